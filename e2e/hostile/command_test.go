package hostile

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// commands are the command lines to run, by command. {dir} is the place, {outside} what is
// outside.
var commands = map[string][]string{
	"":                      {""},
	"answer":                {"answer", "answer q-1 yes"},
	"ask":                   {"ask Which? --wait 0"},
	"audit":                 {"audit"},
	"audit verify":          {"audit verify a.txt"},
	"board":                 {"board --no-open --http 192.0.2.1:0"}, // which opens the board and does not listen
	"board backup":          {"board backup copy.db"},
	"board check":           {"board check"},
	"board repair-clock":    {"board repair-clock"},
	"client":                {"client"},
	"client call":           {"client call get_next_task wait_seconds=0 -- {bossman} mcp", "client call --from all evil x", "client call --from claude evil x"},
	"client prompt":         {"client prompt work -- {bossman} mcp"},
	"client read":           {"client read bossman://board -- {bossman} mcp"},
	"client tools":          {"client tools -- {bossman} mcp", "client tools --from all", "client tools --from claude evil"},
	"client watch":          {"client watch --events 0 --timeout 1s -- {bossman} mcp"},
	"completion":            {"completion"},
	"completion bash":       {"completion bash"},
	"completion fish":       {"completion fish"},
	"completion powershell": {"completion powershell"},
	"completion zsh":        {"completion zsh"},
	"config":                {"config"},
	"config show":           {"config show"},
	"doctor":                {"doctor", "doctor --fix", "doctor --start --json"},
	"done":                  {"done --summary done --evidence commit=HEAD --evidence tests=ok --evidence file=a.txt --branch main", "done --summary done"},
	"event":                 {"event"},
	"event redact":          {"event redact clone-1 2 --reason secret"},
	"fail":                  {"fail --reason no --kind other"},
	"help":                  {"help task"},
	"hook":                  {"hook SessionStart", "hook PostToolUse", "hook Stop"},
	"prime":                 {"prime"},
	"inbox":                 {"inbox"},
	"init":                  {"init --yes"},
	"install":               {"install claude codex goose --print", "install claude crush opencode zed vscode --scope project --agents-md", "install claude crush opencode zed vscode --scope project --agents-md --uninstall"},
	"key":                   {"key"},
	"key create":            {"key create --name x --role worker"},
	"key list":              {"key list"},
	"key lower":             {"key lower 1 --role worker"},
	"key revoke":            {"key revoke 1"},
	"link":                  {"link", "link {clone}", "link --off"},
	"login":                 {"login http://127.0.0.1:1/"},
	"mcp":                   {"mcp"},
	"migrate":               {"migrate"},
	"next":                  {"next --wait 0"},
	"note":                  {"note working"},
	"pause":                 {"pause"},
	"person":                {"person"},
	"person disable":        {"person disable ada"},
	"person enable":         {"person enable ada"},
	"person list":           {"person list"},
	"project":               {"project"},
	"project create":        {"project create other"},
	"project list":          {"project list"},
	"gateway":               {"gateway"},
	"gateway approve":       {"gateway approve x y"},
	"gateway diff":          {"gateway diff"},
	"gateway import":        {"gateway import claude"},
	"gateway list":          {"gateway list"},
	"gateway login":         {"gateway login x"},
	"gateway logs":          {"gateway logs x"},
	"guard":                 {"guard"},
	"guard pre-receive":     {"guard pre-receive"},
	"land":                  {"land"},
	"land return":           {"land return clone-1"},
	"land status":           {"land status"},
	"land undo":             {"land undo clone-1"},
	"project set":           {"project set --policy review"},
	"resume":                {"resume"},
	"review":                {"review accept"},
	"serve":                 {"serve --http 127.0.0.1:99999"},
	"status":                {"status", "status --json"},
	"stop":                  {"stop otter-1"},
	"task":                  {"task"},
	"task add":              {"task add Another one"},
	"task archive":          {"task archive --older-than 0s --to old.gz"},
	"task cancel":           {"task cancel clone-2"},
	"task done":             {"task done clone-2 --note did"},
	"task edit":             {"task edit clone-1 --title New"},
	"task log":              {"task log clone-2"},
	"task diff":             {"task diff clone-2"},
	"task erase":            {"task erase clone-2 --reason secret"},
	"task export":           {"task export"},
	"task import":           {"task import a.txt", "task import --from github"},
	"task list":             {"task list", "task list --json"},
	"task plan":             {"task plan README.md"},
	"task release":          {"task release clone-1"},
	"task reopen":           {"task reopen clone-2"},
	"task retry":            {"task retry clone-1"},
	"task review":           {"task review clone-1 accept"},
	"task show":             {"task show clone-1"},
	"task start":            {"task start clone-1"},
	"task why":              {"task why clone-1"},
	"trust":                 {"trust", "trust --revoke"},
	"version":               {"version"},
	"work":                  {"work --until-empty --max-tasks 1 -- true", "work --answer --until-empty -- true"},
	"__complete":            {"__complete task show ", "__complete --project "},
}

// done is the report of an agent, with evidence that is looked at.
const done = "done --summary done --evidence commit=HEAD --evidence file=a.txt --branch main"

// judged is a report whose only evidence is a check.
const judged = "done --summary done"

// lines are the command lines for the places, each as its words.
func lines(p *place, all bool) [][]string {
	list := append([]string{"next --wait 0"}, p.more...) // opens the board, the repository and the configuration
	if all {
		list = nil
		for _, l := range commands {
			list = append(list, l...)
		}
		slices.Sort(list)
		// An agent first takes its task.
		list = append([]string{"next --wait 0"}, list...)
	}
	words := make([][]string, len(list))
	for i, line := range list {
		words[i] = strings.Fields(strings.NewReplacer("{bossman}", bossman, "{dir}", p.dir, "{clone}", p.dir, "{outside}", p.outside()).Replace(line))
		if strings.HasSuffix(line, " ") && line != "" {
			words[i] = append(words[i], "")
		}
	}
	return words
}

// TestCommands_all: the table has every command of the program.
func TestCommands_all(t *testing.T) {
	var walk func(path ...string)
	walk = func(path ...string) {
		name := strings.Join(path, " ")
		if len(commands[name]) == 0 {
			t.Errorf("command %q is not run in hostile places: add it to the table", name)
		}
		cmd := exec.CommandContext(t.Context(), bossman, append(slices.Clone(path), "--help")...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=" + t.TempDir()}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("bossman %s --help: %v", name, err)
		}
		_, list, _ := strings.Cut(string(out), "Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if f := strings.Fields(line); len(f) > 0 {
				walk(append(slices.Clone(path), f[0])...)
			}
		}
	}
	walk()
}
