# The input is {"counts":[…]}. Draws a bar for each number, in the folder of this attempt, and says where the drawing is.
counts=$(sed 's/.*"counts":\[\([^]]*\)\].*/\1/' | tr ',' ' ')
draft=$PWD/draft.svg
echo "drawing $counts" >&2
sleep 0.3
{
  echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 230" width="720" height="460" font-family="sans-serif">'
  echo '<rect width="360" height="230" rx="12" fill="#111827"/>'
  echo '<text x="20" y="32" fill="#e5e7eb" font-size="15" font-weight="bold">Words in each leg, counted by five agents</text>'
  printf '%s\n' $counts | awk '{
    width = $1 * 9; y = 50 + (NR - 1) * 34
    printf "<rect x=\"20\" y=\"%d\" width=\"%d\" height=\"22\" rx=\"5\" fill=\"hsl(%d 80%% 65%%)\"/>\n", y, width, 200 + NR * 28
    printf "<text x=\"%d\" y=\"%d\" fill=\"#e5e7eb\" font-size=\"13\">%d</text>\n", width + 28, y + 16, $1
  }'
  echo '</svg>'
} > "$draft" || exit 1
printf '{"draft": "%s"}\n' "$draft"
