//go:build unix

package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFind: versions and logins are read from the files of the agents, or printed by them.
func TestFind(t *testing.T) {
	home, bin, repo := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// By npm: a link to a program beside its package.json, which is not run.
	write(filepath.Join(home, "lib/claude-code/package.json"), `{"name":"@anthropic-ai/claude-code","version":"2.1.325"}`)
	write(filepath.Join(home, "lib/claude-code/bin/claude.exe"), "#!/bin/sh\ntouch "+home+"/ran\n")
	if err := os.Symlink(filepath.Join(home, "lib/claude-code/bin/claude.exe"), filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(bin, "codex"), "#!/bin/sh\n[ -z \"$(ls)\" ] || exit 9\ncase $1 in\n--version) echo warning >&2; echo codex-cli 0.166.0;;\nlogin) echo Not logged in; exit 1;;\nesac\n")
	write(filepath.Join(bin, "gemini"), "#!/bin/sh\necho no version here\n")
	write(filepath.Join(repo, "bin/opencode"), "#!/bin/sh\ntouch "+home+"/ran\n")
	t.Setenv("PATH", bin+":"+repo+"/bin:/usr/bin:/bin")
	env := map[string]string{}
	find := func() map[string]Found {
		byName := map[string]Found{}
		for _, f := range Find(t.Context(), FindOptions{Home: home, Getenv: func(k string) string { return env[k] }, Programs: outside(repo)}) {
			byName[f.Name] = f
		}
		return byName
	}
	expect := func(name, version string, login Login) {
		t.Helper()
		if f := find()[name]; f.Version != version || f.Login != login {
			t.Errorf("%s is %q, %q (%v), want %q, %q", name, f.Version, f.Login, f.Err, version, login)
		}
	}
	expect("claude", "2.1.325", LoggedOut)
	expect("codex", "0.166.0", LoggedOut)
	expect("gemini", "", LoggedOut)
	expect("opencode", "", LoginUnknown)
	if f, ok := find()["copilot"]; ok && !slices.Contains([]string{"/usr/bin/copilot", "/bin/copilot"}, f.Path) {
		t.Errorf("copilot was found at %q", f.Path)
	}
	if _, err := os.Stat(filepath.Join(home, "ran")); err == nil {
		t.Error("a program ran that must not")
	}

	write(filepath.Join(home, ".claude/.credentials.json"), `{"claudeAiOauth":{"accessToken":"x"}}`)
	write(filepath.Join(home, ".codex/auth.json"), `{"OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}`)
	write(filepath.Join(home, ".gemini/oauth_creds.json"), `{"access_token":"x"}`)
	write(filepath.Join(home, ".local/share/opencode/auth.json"), `{"anthropic":{"type":"api","key":"x"}}`)
	for name, version := range map[string]string{"claude": "2.1.325", "codex": "0.166.0", "gemini": "", "opencode": ""} {
		expect(name, version, LoggedIn)
	}
	for _, dir := range []string{".claude", ".codex", ".gemini"} {
		if err := os.RemoveAll(filepath.Join(home, dir)); err != nil {
			t.Fatal(err)
		}
	}
	env["ANTHROPIC_API_KEY"], env["GEMINI_API_KEY"] = "x", "x"
	expect("claude", "2.1.325", LoggedIn)
	expect("gemini", "", LoggedIn)
	write(filepath.Join(home, ".codex/config.toml"), `model_provider = "local"`)
	expect("codex", "0.166.0", LoginUnknown)
}

// outside are programs that do not lie in a directory.
type outside string

func (o outside) Look(name string) (string, error) {
	for _, dir := range filepath.SplitList(o.List(os.Getenv("PATH"))) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func (o outside) List(path string) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return strings.HasPrefix(dir, string(o)) }), ":")
}
