package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// project is a place with this project's file.
func project(name string, text func(p *place) string) hostile {
	return hostile{"project-" + name, func(p *place) {
		p.clone()
		p.write(filepath.Join(p.dir, ".bossman", "config.toml"), text(p))
		p.more = []string{"config show"}
	}}
}

func projectFile(name, thing string) hostile {
	return hostile{"project-file-" + name, func(p *place) {
		p.clone()
		p.put(thing, filepath.Join(p.dir, ".bossman", "config.toml"))
	}}
}

// keys are all that a configuration has.
var keys = []string{"board", "db", "project", "policy", "areas", "skills", "lease", "notify", "check", "safe"}

func every(value string) func(*place) string {
	return func(*place) string {
		var b strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&b, "%s = %s\n", k, value)
		}
		return b.String()
	}
}

// each is a place for each key with one value: of several wrong ones the first is told.
func each(name, value string) (list []hostile) {
	if name == "number" && !everything {
		return nil
	}
	for _, k := range keys {
		list = append(list, project(name+"-"+k, func(*place) string { return k + " = " + value + "\n" }))
	}
	return list
}

// tomlEscapes is escapes as a TOML string.
const tomlEscapes = `"\u001b]0;owned\u0007\u001b[31m\u001b[2J\u009b1m\u202edlrow\r\u0008x"`

var projects = append(append([]hostile{
	project("numbers", every("7")),
	project("lists", every("[7, [8], {a = 1}]")),
	project("tables", every("{a = {b = {c = 1}}}")),
	project("runs", func(p *place) string {
		return fmt.Sprintf("notify = [%q]\ndb = %q\n[check]\ncommand = [%[1]q]\ndir = \"..\"\n[safe]\ndirectory = [\"*\"]\n", p.canary(), "postgres:///x?host=/tmp")
	}),
	project("board-inside", func(p *place) string { return "board = \".git/bossman/board.db\"\n" }),
	project("board-outside", func(p *place) string {
		return fmt.Sprintf("board = %q\n", filepath.Join(p.victim(), ".git", "bossman", "board.db"))
	}),
	project("board-victim", func(p *place) string { return fmt.Sprintf("board = %q\n", p.victim()) }),
	project("board-server", func(*place) string { return "board = \"http://127.0.0.1:1/\\u001b[31m\"\n" }),
	project("board-server-user", func(*place) string { return "board = \"http://user:password@127.0.0.1:1/mcp\"\n" }),
	project("long-list", func(*place) string { return "skills = [" + strings.Repeat(`"aaaaaaaa",`, 5_500) + "]\n" }),
	project("long-areas", func(*place) string { return "areas = [" + strings.Repeat(`"a/../../b",`, 5_000) + "]\n" }),
	project("deep-lists", func(*place) string {
		return "areas = " + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "\n"
	}),
	project("deep-tables", func(*place) string {
		return "areas = " + strings.Repeat("{a=", 15_000) + "1" + strings.Repeat("}", 15_000) + "\n"
	}),
	project("deep-keys", func(*place) string { return strings.Repeat("a.", 30_000) + "a = 1\n" }),
	project("many-keys", func(*place) string {
		var b strings.Builder
		for i := range 6_000 {
			fmt.Fprintf(&b, "k%d = 1\n", i)
		}
		return b.String()
	}),
	project("broken", func(*place) string { return "x = " + escapes + "\n" }),
	project("broken-utf8", func(*place) string { return "x = \"\xff\xfe\x9b31m\"\n\x1b[31m" }),
	project("odd-keys", func(*place) string { return tomlEscapes + " = 1\n\"a\\nb\" = 2\n" }),
	project("long-value", func(*place) string { return "project = \"" + strings.Repeat("a", 60_000) + "\"\n" }),
	{"project-directory-outside", func(p *place) {
		p.clone()
		p.write(filepath.Join(p.outside(), "config.toml"), "skills = ["+quoteTOML(secret)+"]\n")
		p.must(os.Symlink(p.outside(), filepath.Join(p.dir, ".bossman")))
	}},
	{"project-link-outside", func(p *place) {
		p.clone()
		p.write(filepath.Join(p.outside(), "config.toml"), "skills = ["+quoteTOML(secret)+"]\n")
		p.mkdir(filepath.Join(p.dir, ".bossman"))
		p.must(os.Symlink(filepath.Join(p.outside(), "config.toml"), filepath.Join(p.dir, ".bossman", "config.toml")))
	}},
	projectFile("pipe", "pipe"), projectFile("device", "link-to-device"), projectFile("huge", "huge"), projectFile("directory", "directory"),
	projectFile("link", "link-outside"), projectFile("node", "device"),
	{"mcp-json-device", func(p *place) {
		p.clone()
		p.more = []string{"client tools --from all", "install claude --scope project", "install vscode --scope project", "install cursor --scope project", "install opencode --scope project"}
		p.put("link-to-device", filepath.Join(p.dir, ".mcp.json"))
		p.put("pipe", filepath.Join(p.dir, ".vscode", "mcp.json"))
		p.put("huge", filepath.Join(p.dir, ".cursor", "mcp.json"))
		p.put("link-outside", filepath.Join(p.dir, "opencode.json"))
	}},
	{"install-links", func(p *place) {
		p.clone()
		p.more = []string{
			"install claude --scope project", "install codex --scope project", "install gemini --scope project", "install zed --scope project",
			"install crush --scope project --agents-md", "install crush --scope project --agents-md --uninstall", "install zed --scope project --uninstall", "init --yes",
		}
		p.put("link-outside", filepath.Join(p.dir, "AGENTS.md"))
		p.must(os.Symlink(p.outside(), filepath.Join(p.dir, ".claude")))
		p.must(os.Symlink(p.git("hooks"), filepath.Join(p.dir, ".codex")))
		p.must(os.Symlink(filepath.Join(p.outside(), "created"), filepath.Join(p.dir, ".gemini")))
		p.write(filepath.Join(p.dir, ".zed", "settings.json"), `{"context_servers": {"x": {"command": "`+p.canary()+`"}}}`)
		p.put("link-outside", filepath.Join(p.dir, ".zed", "settings.json.before-bossman"))
		p.put("link-to-device", filepath.Join(p.dir, "Makefile"))
		p.put("pipe", filepath.Join(p.dir, "package.json"))
	}},
	{"plan-device", func(p *place) {
		p.clone()
		p.more = []string{"task plan README.md", "task import a.txt"}
		p.put("link-to-device", filepath.Join(p.dir, "README.md"))
		p.put("huge", filepath.Join(p.dir, "a.txt"))
	}},
}, each("escapes", tomlEscapes)...), each("number", "7")...)

func quoteTOML(s string) string { return fmt.Sprintf("%q", s) }

// names are places whose names are not what names are.
var names = []hostile{
	named("newline", "a\nb"), named("escapes", strings.ReplaceAll(escapes, "/", "")), named("option", "--upload-pack=canary"), named("dash", "-c"),
	named("glob", "[a*?]{b}"), named("quotes", `it's "x" $(touch ../../ran) ;`), named("url", "https:"), named("percent", "%2e%2e%00?mode=memory&cache=shared#x"),
	named("not-utf8", "\xff\x9b31m"), named("long", strings.Repeat("n", 250)), named("dot-db", "x.db"), named("colon", "a:b:c"),
	{"files-with-names", func(p *place) {
		p.clone()
		for _, name := range []string{"a\nb", escapes, "--exec=x", "-rf", "\xff\x9b31m", ":(exclude)x", "$(x)", "a\tb"} {
			p.write(filepath.Join(p.dir, strings.ReplaceAll(name, "/", "_")), "x\n")
		}
	}},
	{"branch-with-escapes", func(p *place) {
		p.clone()
		p.write(p.git("HEAD"), "ref: refs/heads/"+strings.Trim(escapes, "/")+"\n")
	}},
	{"branch-option", func(p *place) {
		p.clone()
		p.write(p.git("HEAD"), "ref: refs/heads/--output=created\n")
	}},
	{"remote-with-escapes", func(p *place) {
		p.clone()
		p.add(p.git("config"), "[remote \"origin\"]\n\turl = https://example.com/"+escapes+"\n")
	}},
}

// named is a repository in a directory of this name.
func named(name, dir string) hostile {
	return hostile{"name-" + name, func(p *place) {
		p.dir = filepath.Join(filepath.Dir(p.dir), dir)
		p.clone()
		p.more = []string{"status"}
	}}
}

// claims are what is said to be held here.
var claims = []hostile{
	claim("of-another-board", func(p *place) string {
		return fmt.Sprintf(`{"board":%q,"owner":"d-AAAAAAAAAAAA","worker":"otter-1","claim":"victim-1/1.aaaaa","dir":%q}`, filepath.Join(p.victim(), ".git", "bossman", "board.db"), p.victim())
	}),
	claim("elsewhere", func(p *place) string {
		return fmt.Sprintf(`{"board":"bossman/board.db","owner":"d-AAAAAAAAAAAA","worker":"otter-1","claim":"clone-1/1.aaaaa","dir":%q}`, p.victim())
	}),
	claim("owner-path", func(p *place) string {
		return `{"board":"bossman/board.db","owner":"../../../../../outside/created","worker":"../x","claim":"clone-1/1.aaaaa"}`
	}),
	claim("escapes", func(p *place) string {
		e := jsonOf(escapes)
		return `{"board":"bossman/board.db","owner":` + e + `,"worker":` + e + `,"claim":` + e + `,"dir":` + e + `}`
	}),
	claim("types", func(*place) string { return `{"board":7,"owner":[],"worker":{},"claim":null}` }),
	claim("deep", func(*place) string { return strings.Repeat("[", 60_000) }),
	claim("text", func(*place) string { return escapes }),
	claim("empty", func(*place) string { return "" }),
}

func claim(name string, text func(p *place) string) hostile {
	return hostile{"claim-" + name, func(p *place) {
		p.clone()
		p.write(p.git("bossman", "claim.json"), text(p))
	}}
}

// stranger is the user id of somebody else.
const stranger = 12345

// owners are places of other users.
var owners = []hostile{
	owned("everything", "."), owned("git", ".git"), owned("board", ".git/bossman/board.db"), owned("lock", ".git/bossman/board.db.lock"), owned("directory", ".git/bossman"),
	{"owner-shared-above", func(p *place) {
		p.copy(filepath.Join(p.base, "template"))
		above := filepath.Join(filepath.Dir(p.dir), ".bossman")
		p.must(os.CopyFS(above, os.DirFS(filepath.Join(p.victim(), ".git", "bossman"))))
		p.mkdir(p.dir)
		p.chown(above)
	}},
	{"owner-configuration", func(p *place) {
		p.clone()
		p.write(filepath.Join(p.dir, ".bossman", "config.toml"), "skills = [\"x\"]\n")
		p.chown(filepath.Join(p.dir, ".bossman", "config.toml"))
	}},
}

func owned(name, path string) hostile {
	return hostile{"owner-" + name, func(p *place) {
		p.clone()
		p.chown(filepath.Join(p.dir, filepath.FromSlash(path)))
	}}
}

// chown gives a path with everything in it to somebody else.
func (p *place) chown(path string) {
	p.t.Helper()
	if os.Getuid() != 0 {
		p.t.Skip("needs root, to make files of another user")
	}
	p.must(filepath.WalkDir(path, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, stranger, stranger)
	}))
}
