package crew

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// The guard keeps agents from moving the target of a project by accident: git calls hooks of ours in
// their repository, which call the user's. Agents run as the user, so it holds nobody up who means it;
// the lander reports what it has not landed itself.

const (
	guardDir  = "hooks"
	guardFile = "guard.conf"
	// clonesDir and clonesFile are the same for other repositories, which may be clones of this one, or of the target's.
	clonesDir  = "clone-hooks"
	clonesFile = "clones.conf"
	// maxHooks is how many hooks a user may have.
	maxHooks = 100
)

// guard writes the hooks of a job to its desk, and returns the environment with which git calls them: those for updates in this repository
// alone, those for pushes in every repository that has a remote one, since only the address of a push tells where it leads.
func (j *job) guard(ctx context.Context, desk *os.Root) ([]string, error) {
	target := j.r.o.Target
	common, err := filepath.EvalSymlinks(j.tree.Common)
	if target.Branch == "" || err != nil || strings.ContainsAny(common+desk.Name(), "\n\"") {
		return nil, err
	}
	own, err := j.tree.HooksDir(ctx)
	if err != nil {
		return nil, err
	}
	hooks := map[string]string{}
	found := userHooks(own)
	for hook, path := range found {
		hooks[hook] = "#!/bin/sh\nexec " + visible.ShellWord(path) + " \"$@\"\n"
	}
	root := j.r.o.Repo.Root
	if main, ok := git.Main(common); ok { // from which work is pushed
		root = main.Root
	}
	push := refusePush(target, filepath.ToSlash(common), root)
	hooks["pre-push"] = push + chain(found["pre-push"])
	if target.Kind == board.TargetLocal {
		hooks["reference-transaction"] = refuseUpdate(target) + chain(found["reference-transaction"])
	}
	if err := cmp.Or(writeHooks(desk, guardDir, guardFile, hooks), writeHooks(desk, clonesDir, clonesFile, cloneHooks(push))); err != nil {
		return nil, err
	}
	settings := [][2]string{{"includeIf.hasconfig:remote.*.url:**.path", filepath.Join(desk.Name(), clonesFile)}} // git 2.36 or newer
	// The main worktree and each linked one, but no submodule: their git directories are below these. They come last, and win.
	for _, end := range []string{"", "/worktrees/*"} {
		settings = append(settings, [2]string{"includeIf.gitdir:" + globbed(filepath.ToSlash(common)) + end + ".path", filepath.Join(desk.Name(), guardFile)})
	}
	return []string{gitParameters(j.r.o.Environ, settings)}, nil
}

// globbed is a text as a pattern of git that matches it alone.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// writeHooks writes hooks to a directory of a desk, and a configuration of git that has them called.
func writeHooks(desk *os.Root, dir, file string, hooks map[string]string) error {
	if err := desk.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, script := range hooks {
		if err := writeNew(desk, filepath.Join(dir, name), script, 0o700); err != nil {
			return err
		}
	}
	path := filepath.ToSlash(filepath.Join(desk.Name(), dir))
	return writeNew(desk, file, fmt.Sprintf("[core]\n\thooksPath = %q\n", path), 0o600)
}

// parametersVariable is where git keeps the settings of its option -c for the programs that it calls. Agents that hide variables with KEY in
// their names from their shells hide GIT_CONFIG_KEY_0, without which git fails, and programs that set GIT_CONFIG_COUNT replace what was there.
const parametersVariable = "GIT_CONFIG_PARAMETERS"

// gitParameters returns the variable that adds settings to those for git in an environment.
func gitParameters(env []string, settings [][2]string) string {
	var list []string
	for _, v := range env {
		if before, ok := strings.CutPrefix(v, parametersVariable+"="); ok && before != "" {
			list = []string{before}
		}
	}
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	for _, s := range settings {
		setting := quoted(s[0] + "=" + s[1])
		if strings.Contains(s[0], "=") { // which git before 2.31 does not read
			setting = quoted(s[0]) + "=" + quoted(s[1])
		}
		list = append(list, setting)
	}
	return parametersVariable + "=" + strings.Join(list, " ")
}

// userHooks are the hooks in a directory, by name.
func userHooks(dir string) map[string]string {
	hooks := map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries[:min(len(entries), maxHooks)] {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		word := strings.Trim(e.Name(), "abcdefghijklmnopqrstuvwxyz-") == ""
		if err == nil && word && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || filepath.Separator == '\\') {
			hooks[e.Name()] = filepath.ToSlash(path)
		}
	}
	return hooks
}

// writeNew writes a file of a desk that is not there yet.
func writeNew(desk *os.Root, name, text string, mode fs.FileMode) error {
	f, err := desk.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return cmp.Or(err, f.Close())
}
