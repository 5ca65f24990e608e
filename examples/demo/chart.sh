# The input is {"counts":[{"name":"…","words":…},…]}. Draws a bar for each text, in the folder of this attempt, and says where the
# drawing is.
counts=$(tr '}' '\n' | sed -n 's/.*"name":"\([^"]*\)","words":\([0-9]*\).*/\1 \2/p')
draft=$PWD/draft.svg
echo "drawing $(printf '%s\n' "$counts" | wc -l) bars" >&2
sleep 0.3
{
  echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 230" width="800" height="460" font-family="sans-serif">'
  echo '<rect width="400" height="230" rx="12" fill="#111827"/>'
  echo '<text x="20" y="32" fill="#e5e7eb" font-size="15" font-weight="bold">Words per text, one agent each</text>'
  printf '%s\n' "$counts" | awk '{
    width = $2 * 9; y = 50 + (NR - 1) * 34
    printf "<text x=\"72\" y=\"%d\" fill=\"#9ca3af\" font-size=\"13\" text-anchor=\"end\">%s</text>\n", y + 16, $1
    printf "<rect x=\"82\" y=\"%d\" width=\"%d\" height=\"22\" rx=\"5\" fill=\"hsl(%d 80%% 65%%)\"/>\n", y, width, 200 + NR * 28
    printf "<text x=\"%d\" y=\"%d\" fill=\"#e5e7eb\" font-size=\"13\">%d</text>\n", width + 90, y + 16, $2
  }'
  echo '</svg>'
} > "$draft" || exit 1
printf '{"draft": "%s"}\n' "$draft"
