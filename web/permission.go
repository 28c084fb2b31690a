package web

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A permission is a question about whether an agent may do something, as `bossman work` asks
// it. It is read from the question's text, which the board keeps as text only.
type permission struct {
	Agent, Tool string
	// Use is what the agent wants to do: a command, or the arguments of a tool.
	Use string
	// Rules are what a yes for the task allows, too.
	Rules []string
	// Vague is set if nobody can tell what exactly would be done.
	Vague bool
	// Review is the task whose reviewer asks, if it is one.
	Review string
	Risks  []string
	// Risky is set unless it is known to do no harm. It is answered on its own page only.
	Risky bool
}

// permissionIn returns the permission that a question asks for; false if it is another
// question.
func permissionIn(q *board.Question) (permission, bool) {
	lines := strings.Split(visible.Text(q.Text), "\n")
	head, ok := strings.CutPrefix(lines[0], "May ")
	name, tool, found := strings.Cut(head, " use ")
	if !ok || !found || !strings.HasSuffix(tool, "?") || !q.HumanOnly || len(q.Options) < 2 ||
		q.Options[0] != "yes" || !slices.Contains(q.Options, "no") {
		return permission{}, false
	}
	p := permission{Agent: name, Tool: strings.TrimSuffix(tool, "?")}
	var use []string
	rules := false
	for _, l := range lines[1:] {
		quoted, isQuoted := strings.CutPrefix(l, "  | ")
		switch {
		case isQuoted && rules:
			p.Rules = append(p.Rules, quoted)
		case isQuoted:
			use = append(use, quoted)
		case strings.HasPrefix(l, "For this task that is"):
			rules = true
		case strings.HasPrefix(l, "What exactly is not known"):
			p.Vague = true
		case strings.HasPrefix(l, "It reviews "):
			p.Review = strings.TrimSuffix(strings.TrimPrefix(l, "It reviews "), ".")
		}
	}
	p.Use = strings.Join(use, "\n")
	p.Risks = risks(p.Tool + " " + p.Use)
	p.Risky = p.Vague || len(p.Risks) > 0 || !harmless(p.Use)
	return p, true
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

// risks names what a text may do.
func risks(text string) (list []string) {
	for _, d := range dangers {
		if d.in.MatchString(text) {
			list = append(list, d.what)
		}
	}
	return list
}

// safeCommands are commands that read, build or test within the worktree.
var safeCommands = []string{
	"go test", "go build", "go vet", "gofmt", "npm test", "npm run test", "npm run lint", "npm run build", "make check", "make test", "make lint",
	"pytest", "cargo test", "cargo check", "cargo build", "git status", "git diff", "git log", "git show", "ls", "cat", "head", "tail", "wc", "grep", "rg", "tsc --noEmit",
}

// harmless reports whether a command is known to do no harm: one line, one command, nothing
// that a shell would make more of.
func harmless(use string) bool {
	if use == "" || strings.ContainsAny(use, "\n;&|<>`$(){}\\*?!") {
		return false
	}
	return slices.ContainsFunc(safeCommands, func(c string) bool {
		return use == c || strings.HasPrefix(use, c+" ")
	})
}
