// Package permission reads the questions with which agents ask whether they may do something,
// and says what is risky about it.
package permission

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A Permission is a question about whether an agent may do something, as `bossman work` asks
// it. It is read from the question's text, which the board keeps as text only.
type Permission struct {
	Agent, Tool string
	// Use is what the agent wants to do: a command, or the arguments of a tool.
	Use string
	// Dir is the directory in which it would be done, or empty for the agent's worktree.
	Dir string
	// Words are what the agent says about it. They may be wrong, and nothing of them is done.
	Words string
	// Rules are what a yes for the task allows, too.
	Rules []string
	// Vague is set if nobody can tell what exactly would be done.
	Vague bool
	// Review is the task whose reviewer asks, if it is one.
	Review string
	Risks  []string
	// Risky is set unless it is known to do no harm. It is answered on its own page only:
	// never from a list, nor by a link.
	Risky bool
}

// The words of the questions of `bossman work`.
const (
	vague   = "What exactly is not known: it does not say. A yes holds only this once."
	rules   = "For this task that is:"
	reviews = "It reviews "
	inDir   = "In the directory:"
	says    = "The agent says about it:"
	margin  = "  |"
)

// head is the first line of such a question.
var head = regexp.MustCompile(`^May (\S{1,100}) use ([^?]{1,200})\?$`)

// In returns the permission that a question asks for; false if it is another question. Anybody can ask a question, so it is
// one only if it is as `bossman work` asks it from the first letter to the last: nothing else is in its text.
func In(q *board.Question) (Permission, bool) {
	lines := strings.Split(visible.Text(q.Text), "\n")
	words := head.FindStringSubmatch(lines[0])
	if words == nil || !q.HumanOnly || q.Default != "" {
		return Permission{}, false
	}
	p := Permission{Agent: words[1], Tool: words[2]}
	lines = lines[1:]
	// quoted takes the lines behind the margin.
	quoted := func() (list []string) {
		for len(lines) > 0 {
			text, ok := strings.CutPrefix(lines[0], margin)
			if !ok || text != "" && text[0] != ' ' {
				break
			}
			list, lines = append(list, strings.TrimPrefix(text, " ")), lines[1:]
		}
		return list
	}
	p.Use = strings.Join(quoted(), "\n")
	if len(lines) > 0 && lines[0] == inDir {
		lines = lines[1:]
		dir := quoted()
		if len(dir) != 1 || dir[0] == "" {
			return Permission{}, false
		}
		p.Dir = dir[0]
	}
	if len(lines) > 0 && lines[0] == says {
		lines = lines[1:]
		p.Words = strings.Join(quoted(), "\n")
	}
	if len(lines) > 0 && lines[0] == vague {
		p.Vague, lines = true, lines[1:]
	} else if len(lines) > 0 && lines[0] == rules {
		lines = lines[1:]
		p.Rules = quoted()
	}
	if len(lines) > 0 && strings.HasPrefix(lines[0], reviews) {
		id, err := board.ParseID(strings.TrimSuffix(strings.TrimPrefix(lines[0], reviews), "."))
		if err != nil || lines[0] != reviews+id.String()+"." {
			return Permission{}, false
		}
		p.Review, lines = id.String(), lines[1:]
	}
	if len(lines) > 0 || !slices.Equal(q.Options, Options(p.Vague)) {
		return Permission{}, false
	}
	p.Risks = risks(p.Tool + " " + p.Use + "\n" + strings.Join(p.Rules, "\n"))
	if p.Dir != "" {
		p.Risks = append(p.Risks, elsewhere)
	}
	p.Risky = p.Vague || len(p.Risks) > 0 || !slices.Contains(commands, p.Tool) || !harmless(p.Use) ||
		slices.ContainsFunc(p.Rules, func(rule string) bool { return !harmlessRule(rule) })
	return p, true
}

// commands are the names of tools that run a command.
var commands = []string{"Bash", "a command"}

// harmlessRule reports whether a rule allows only one command, which is known to do no harm.
func harmlessRule(rule string) bool {
	command, ok := strings.CutPrefix(rule, "Bash(")
	command, end := strings.CutSuffix(command, ")")
	return ok && end && harmless(command)
}

// dangers are what commands do that people want to know before they allow them. They are a
// help to the eye, not a guard: what matches none may do the same.
var dangers = []struct {
	what string
	in   *regexp.Regexp
}{
	{"deletes files", regexp.MustCompile(`(?i)\brm\b|\brmdir\b|\bunlink\b|\bshred\b|find .*-delete|git clean|a deletion of files`)},
	{"changes a database", regexp.MustCompile(`(?i)\bmigrat|\bpsql\b|\bmysql\b|\bsqlite3\b|\bdrop (table|database)|\bredis-cli\b|\bmongo|prisma (db|migrate)`)},
	{"changes what others see", regexp.MustCompile(`(?i)\bgit push\b|\bgh (pr|release|issue)\b|npm publish|docker push|cargo publish|twine upload|kubectl|terraform|helm\b|\bdeploy`)},
	{"rewrites history", regexp.MustCompile(`(?i)git (reset --hard|rebase|commit --amend|checkout --|restore|branch -D)|push .*(-f\b|--force)`)},
	{"uses the network", regexp.MustCompile(`(?i)\bcurl\b|\bwget\b|\bssh\b|\bscp\b|\brsync\b|\bnc\b|https?://|the network|WebFetch|npm (i|install)\b|pip3? install|go get|cargo (add|install)|apt(-get)? `)},
	{"runs code from elsewhere", regexp.MustCompile(`(?i)\bnpx\b|\bbunx\b|\buvx\b|\|\s*(ba|z|da)?sh\b|\beval\b|base64 -d|go run [a-z.]+/`)},
	{"uses more rights", regexp.MustCompile(`(?i)\bsudo\b|\bdoas\b|\bsu\b|\bchmod\b|\bchown\b|setcap`)},
	{"reads secrets", regexp.MustCompile(`(?i)\.env\b|id_rsa|id_ed25519|\.ssh/|\.aws/|\.netrc|credential|secret|password|token|printenv|\benv\b`)},
	{"ends processes", regexp.MustCompile(`(?i)\bkill(all)?\b|\bpkill\b|systemctl|\breboot\b|shutdown`)},
	{"leaves its worktree", regexp.MustCompile(`(?:^|[\s'"=])(?:\.\./|~/|/(?:etc|home|root|usr|var|opt)/)|outside its worktree`)},
}

// elsewhere is the risk of what is done in a directory that is not the agent's worktree.
const elsewhere = "runs in another directory"

// risks names what a text may do.
func risks(text string) (list []string) {
	for _, d := range dangers {
		if d.in.MatchString(text) {
			list = append(list, d.what)
		}
	}
	return list
}

// safeCommands are commands that read, build or test within the worktree, with the options that do not change that, or nil
// if nothing may follow. Programs
// that show the files that they are told are not among them: a name in the worktree may be a link to a file elsewhere.
var safeCommands = map[string][]string{
	"go test": goOptions, "go build": {"-v", "-race"}, "go vet": {"-v"}, "gofmt -l": {},
	"npm test": nil, "npm run test": nil, "npm run lint": nil, "npm run build": nil, "tsc --noEmit": nil,
	"make check": nil, "make test": nil, "make lint": nil,
	"pytest": {"-q", "-v", "-x"}, "cargo test": cargoOptions, "cargo check": cargoOptions, "cargo build": cargoOptions,
	"git status": {"-s", "-sb", "--short", "--porcelain"}, "git diff": gitOptions, "git log": gitOptions, "git show": gitOptions,
	"ls": {"-l", "-a", "-la", "-al", "-1"},
}

var (
	goOptions    = []string{"-v", "-race", "-short", "-count=1", "-run", "-failfast"}
	cargoOptions = []string{"-q", "-v", "--all", "--workspace", "--release"}
	gitOptions   = []string{"--stat", "--cached", "--staged", "--name-only", "--name-status", "--oneline", "-p", "-1", "-3", "-5", "-10", "-20", "--"}
)

// plainWord is a word that a shell leaves as it is, and that is no option, no setting and no place outside.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_./-]*$`)

// harmless reports whether a command is known to do no harm: one line, one command, words that a shell leaves as they
// are, and no option that is not known.
func harmless(use string) bool {
	for command, options := range safeCommands {
		rest, ok := strings.CutPrefix(use, command)
		if !ok || rest != "" && rest[0] != ' ' || strings.ContainsAny(rest, "\n\t") {
			continue
		}
		if options == nil {
			return rest == ""
		}
		return !slices.ContainsFunc(strings.Fields(rest), func(w string) bool {
			return !slices.Contains(options, w) && (!plainWord.MatchString(w) || slices.Contains(strings.Split(w, "/"), ".."))
		})
	}
	return false
}
