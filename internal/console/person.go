package console

// agentVariables are set by agents for the commands that they run. Settings that people
// keep in their own shells are not among them.
var agentVariables = []string{
	"BOSSMAN_AGENT", "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX",
	"CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "CRUSH", "CURSOR_AGENT", "CLINE_ACTIVE",
	"COPILOT_CLI", "AUGMENT_AGENT", "GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID",
}

// AgentVariable is the variable by which an agent that runs this command is recognized,
// empty if none is set.
func (c *Console) AgentVariable() string {
	for _, name := range agentVariables {
		if c.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// RequirePerson returns an error unless a person runs this command: an agent must not
// review its own work or answer its own questions. It guards against accidents; an agent
// can pretend to be a person. With BOSSMAN_PERSON=1, for people's own scripts, no terminal is
// needed; terminal reports whether there is one.
func (c *Console) RequirePerson() (terminal bool, err error) {
	if err := c.RefuseAgent(); err != nil {
		return false, err
	}
	terminal = IsTerminal(c.Stdin)
	if !terminal && c.Getenv("BOSSMAN_PERSON") != "1" {
		return false, Errorf(Denied, "run it in a terminal", "this is for people, and standard input is not a terminal")
	}
	return terminal, nil
}

// RefuseAgent returns an error in an agent's shell: an agent must not give itself a key.
func (c *Console) RefuseAgent() error {
	if name := c.AgentVariable(); name != "" {
		return Errorf(Denied, "ask the person to run it in a terminal of their own",
			"this is for people, and %s is set: an agent runs this command", name)
	}
	return nil
}
