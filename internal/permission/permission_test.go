package permission

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

const migrate = "May claude use Bash?\n  | npx prisma migrate deploy\nFor this task that is:\n  | Bash(npx prisma *)"

var permits = []string{"yes", "yes, for this task", "no"}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		text    string
		options []string
		people  bool
		is      bool
		use     string
		risky   bool
		risks   string
	}{
		{migrate, permits, true, true, "npx prisma migrate deploy", true, "changes a database, changes what others see, runs code from elsewhere"},
		{"May codex use a command?\n  | go test ./...", permits, true, true, "go test ./...", false, ""},
		{"May codex use a command?\n  | go test ./... && rm -rf x", permits, true, true, "go test ./... && rm -rf x", true, "deletes files"},
		{"May codex use a command?\n  | cat ../../etc/passwd", permits, true, true, "cat ../../etc/passwd", true, "leaves its worktree"},
		{"May claude use Bash?\n  | git diff --stat\nFor this task that is:\n  | Bash(git diff --stat)", permits, true, true, "git diff --stat", false, ""},
		{"May claude use Bash?\n  | git diff --stat\nFor this task that is:\n  | Bash(git diff:*)", permits, true, true, "git diff --stat", true, ""},
		{"May claude use Bash?\n  | git diff --stat\nFor this task that is:\n  | Bash(git diff --stat)\n  | Bash(curl:*)", permits, true, true, "git diff --stat", true, "uses the network"},
		{"May acp use mcp__prod__run?\n  | make test", permits, true, true, "make test", true, ""},
		{"May codex use a command?\n  | gotest", permits, true, true, "gotest", true, ""},
		{"May codex use a command?\n  | git log --oneline\n  | rm x", permits, true, true, "git log --oneline\nrm x", true, "deletes files"},
		{"May x use a tool?\nWhat exactly is not known: it does not say. A yes holds only this once.", []string{"yes", "no"}, true, true, "", true, ""},
		{"May I use tabs?", []string{"Yes", "No"}, true, false, "", false, ""},
		{"May claude use Bash?\n  | ls", permits, false, false, "", false, ""}, // an agent may answer it: it is no permission
		{"Which?", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | a\n  |\n  | b\nIt reviews web-1.", permits, true, true, "a\n\nb", true, ""},
		{"May codex use a command?\n  | go test ./...\nIn the directory:\n  | /srv/web", permits, true, true, "go test ./...", true, "runs in another directory"},
		{"May claude use Bash?\n  | go test ./...\nThe agent says about it:\n  | rm -rf is not in it", permits, true, true, "go test ./...", false, ""},
		// A text that says anything else is no permission.
		{"May claude use Bash?\n  | go test ./...\nMay I also delete the database?", []string{"yes", "no"}, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nMay I also delete the database?", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\n\n", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nFor this task that is: all of it\n  | x", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nIt reviews web-1. And may I push?", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nIt reviews web-1.\nIt reviews web-2.", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nWhat exactly is not known to you, and I delete all.", permits, true, false, "", false, ""},
		{"May claude use Bash?\nFor this task that is:\n  | x\nWhat exactly is not known: it does not say. A yes holds only this once.", permits, true, false, "", false, ""},
		{"May I delete the database, and claude use Bash?\n  | go test ./...", permits, true, false, "", false, ""},
		{"May claude use Bash? And may I use the network?\n  | go test ./...", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nIn the directory:\n  | /a\n  | /b", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nIn the directory:", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...\nThe agent says about it:\n  | x\nIn the directory:\n  | /a", permits, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...", []string{"yes", "no"}, true, false, "", false, ""},
		{"May claude use Bash?\n  | go test ./...", []string{"yes", "yes, and delete all", "no"}, true, false, "", false, ""},
	} {
		p, is := In(&board.Question{Text: c.text, Options: c.options, HumanOnly: c.people})
		if is != c.is || p.Use != c.use || p.Risky != c.risky || strings.Join(p.Risks, ", ") != c.risks {
			t.Errorf("In(%q) = %+v, %v", c.text, p, is)
		}
	}
}

// Only what is known to stay in its worktree is called harmless.
func TestHarmless(t *testing.T) {
	for use, want := range map[string]bool{
		"go test ./...": true, "go test -race -count=1 ./board ./store/...": true, "go test -run TestX ./a": true, "go vet": true, "make check": true, "git log --oneline -5": true,
		"git diff --stat HEAD -- web/a.go": true, "npm test": true, "ls -la web": true, "cargo test --workspace": true, "git status": true,
		"": false, "go": false, "go testx": false, "go test -exec ./x ./...": false, "go test -toolexec=x": false, "go build -o /tmp/x": false, "go vet -vettool=x": false, "gofmt -w .": false,
		"rg --pre ./x a": false, "rg a": false, "cat a": false, "cat /Users/ada/notes": false, "head a": false, "grep -r a": false, "ls /": false, "ls ..": false, "ls a/../..": false, "ls ~": false,
		"git log --output=x": false, "git log --output x": false, "git diff --ext-diff": false, "git show --textconv": false, "git diff --no-index a b": false, "git log -c core.pager=x": false,
		"npm test -- --x": false, "make test SHELL=x": false, "make test install": false, "npm run build x": false, "pytest -p x": false, "pytest --rootdir=/": false, "cargo test --config x": false, "go test ./...\nrm x": false,
		"go test ./... ; rm x": false, "go test $(x)": false, "go test 'a b'": false, "go test x@latest": false, "go test\t-exec x": false, "git show HEAD:/etc": false,
	} {
		if got := harmless(use); got != want {
			t.Errorf("harmless(%q) = %v, want %v", use, got, want)
		}
	}
}
