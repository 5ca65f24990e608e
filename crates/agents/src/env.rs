//! Variables that change what a program runs, or whom it talks to.
//!
//! They are set in people's shells for one purpose and forgotten; passed on, they make an agent another one than its entry says, or send its
//! conversations and keys elsewhere. So `env` does not pass them on. With a value in the entry itself (`set`) they can be seen, and are fine.

/// By their whole name.
const NAMES: [&str; 22] = [
    "BASH_ENV",
    "ENV",
    "GIT_ASKPASS",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "_JAVA_OPTIONS",
];

/// Whether a variable of this name is not passed on.
pub(crate) fn is_banned(name: &str) -> bool {
    NAMES.contains(&name)
        || ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG_"].iter().any(|start| name.starts_with(start))
        || name.ends_with("_BASE_URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_programs_or_their_servers_is_not_passed_on() {
        for name in
            ["LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "OPENAI_BASE_URL", "BASH_ENV", "ENV", "GIT_SSH_COMMAND"]
        {
            assert!(is_banned(name), "{name}");
        }
        for name in ["OPENAI_API_KEY", "HTTPS_PROXY", "PATH", "BASE_URLS", "ENVIRONMENT", "COLD_START"] {
            assert!(!is_banned(name), "{name}");
        }
    }
}
