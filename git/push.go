package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A RemoteKind is why something was not pushed to a remote repository, or fetched from there.
type RemoteKind string

const (
	// RemoteMoved means that the ref has commits there which the pushed one does not have.
	RemoteMoved RemoteKind = "moved"
	// RemoteRefused means that a hook, here or there, or a rule of the server does not allow it.
	RemoteRefused RemoteKind = "refused"
	// RemoteUnreachable means that there was no connection, or no permission to use it.
	RemoteUnreachable RemoteKind = "unreachable"
)

// A RemoteError says that a remote repository did not take or give something.
type RemoteError struct {
	Remote string
	Kind   RemoteKind
	// Words is what git, the server and hooks said, in at most maxWords bytes. It is text of others.
	Words string
	err   error
}

func (e *RemoteError) Error() string {
	what := map[RemoteKind]string{
		RemoteMoved:       "has newer commits",
		RemoteRefused:     "or a hook did not accept the push",
		RemoteUnreachable: "cannot be reached",
	}[e.Kind]
	return fmt.Sprintf("remote %.80q %s: %.400q", e.Remote, what, e.Words)
}

func (e *RemoteError) Unwrap() error { return e.err }

// maxWords bounds the words of a RemoteError.
const maxWords = 1000

// Push makes a ref of a remote repository name a commit: refs/heads/main, or one below refs/bossman.
// It never forces that: the commit has to have what the ref names there. The error is a *RemoteError
// if the push did not succeed; after another one, such as that of the context, nobody knows whether it did.
//
// The user's own credential helpers run, and, other than everywhere else, the hook pre-push of the
// repository. Of the commands of the repository's own configuration that RemoteCommands lists, all have
// to be accepted.
func (r *Repo) Push(ctx context.Context, remote, commit, ref string, accept func(command string) bool) error {
	if !IsObject(commit) || !validRef(ref) || !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/bossman/") {
		return fmt.Errorf("%.80q is not the name of a commit, or %.80q not that of a ref that is pushed", commit, ref)
	}
	c, err := r.remoteCall(ctx, remote, accept)
	if err != nil {
		return err
	}
	hooks, remove, err := r.pushHooks(ctx)
	if err != nil {
		return err
	}
	defer remove()
	rejected, said := false, ""
	c.config = []string{"core.hooksPath=" + hooks}
	c.args = []string{"push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules", "--no-force-with-lease", "--no-signed", "--", remote, commit + ":" + ref}
	c.one, c.warned = &rejected, &said
	c.memory = hookMemory
	out, err := r.write(ctx, c)
	if err != nil {
		return unreachable(ctx, remote, err)
	}
	if !rejected {
		return nil
	}
	kind := RemoteRefused // by the hook here, if git says nothing of the ref
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) < 3 || fields[0] != "!" {
			continue
		}
		said = fields[2] + "\n" + said
		if moved(fields[2]) {
			kind = RemoteMoved
		}
	}
	return &RemoteError{Remote: remote, Kind: kind, Words: words(said)}
}

// moved reports whether git's summary of a ref says that somebody else was first.
func moved(summary string) bool {
	if strings.HasPrefix(summary, "[rejected]") {
		return true // non-fast-forward, fetch first, needs force and the like
	}
	for _, why := range []string{"(cannot lock ref", "(failed to update ref", "(incorrect old value provided", "(reference already exists", "(fetch first", "(non-fast-forward"} {
		if strings.Contains(summary, why) {
			return true
		}
	}
	return false
}

// FetchBranch fetches a branch of a remote repository into its remote-tracking branch, and returns
// the commit; empty if there is no such branch. What runs is as for Push, but no hook.
func (r *Repo) FetchBranch(ctx context.Context, remote, branch string, accept func(command string) bool) (string, error) {
	from, to := "refs/heads/"+branch, "refs/remotes/"+remote+"/"+branch
	if !validRef(from) || !validRef(to) {
		return "", fmt.Errorf("%.80q is no name of a branch", branch)
	}
	err := r.fetch(ctx, remote, accept, map[string]string{from: "+" + from + ":" + to})
	if errors.Is(err, errNoRef) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return r.ref(to, 0), nil
}

// FetchRef fetches a ref of a remote repository into the ref of the same name, and reports whether
// there is one. It is an error if the ref here has something else already.
func (r *Repo) FetchRef(ctx context.Context, remote, ref string, accept func(command string) bool) (bool, error) {
	if !validRef(ref) || !strings.HasPrefix(ref, "refs/bossman/") {
		return false, fmt.Errorf("%.80q is no name of a ref that is fetched", ref)
	}
	err := r.fetch(ctx, remote, accept, map[string]string{ref: ref + ":" + ref})
	if errors.Is(err, errNoRef) {
		return false, nil
	}
	return err == nil, err
}

// errNoRef means that a remote repository does not have a ref.
var errNoRef = errors.New("git: the remote has no such ref")

// fetch fetches refs, by what git calls a refspec.
func (r *Repo) fetch(ctx context.Context, remote string, accept func(command string) bool, specs map[string]string) error {
	c, err := r.remoteCall(ctx, remote, accept)
	if err != nil {
		return err
	}
	c.args = []string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules", "--no-write-fetch-head", "--", remote}
	var refs []string
	for _, spec := range specs {
		c.args = append(c.args, spec)
		_, to, _ := strings.Cut(spec, ":")
		refs = append(refs, to)
	}
	rejected := false
	c.one, c.memory = &rejected, r.readMemory()+addMemory
	_, err = r.write(ctx, c, refs...)
	if e, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil && strings.Contains(e.Output, "couldn't find remote ref ") {
		return errNoRef
	}
	if err != nil {
		return unreachable(ctx, remote, err)
	}
	if rejected {
		return fmt.Errorf("%q has something else here than at remote %.80q", refs, remote)
	}
	return nil
}

// unreachable is the error of a git that ended before it had an answer.
func unreachable(ctx context.Context, remote string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || ctx.Err() != nil || e.Exit <= 0 {
		return err
	}
	return &RemoteError{Remote: remote, Kind: RemoteUnreachable, Words: words(e.Output), err: err}
}

// words is what git and others said, without passwords, and without what git says in any case.
func words(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(password.ReplaceAllString(line, "://…@"))
		if line != "" && !strings.HasPrefix(line, "error: failed to push some refs to ") && !strings.HasPrefix(line, "hint: ") {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "\n")
	return strings.ToValidUTF8(text[:min(len(text), maxWords)], "\ufffd")
}

// remoteEnv are the variables of the user for connections, which git gets for them alone.
var remoteEnv = []string{"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_PROXY_SSL_CAINFO"}

// remoteCall returns a call of git that connects to a remote repository. Nobody is asked for a
// password.
func (r *Repo) remoteCall(ctx context.Context, remote string, accept func(command string) bool) (call, error) {
	none := call{}
	if !validRef("refs/remotes/"+remote) || strings.HasPrefix(remote, "-") {
		return none, fmt.Errorf("%.80q is no name of a remote", remote)
	}
	if _, err := r.git(ctx, "config", "--get-all", "remote."+remote+".url"); err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
			err = fmt.Errorf("there is no remote %.80q", remote)
		}
		return none, err
	}
	f, err := r.filters(ctx)
	if err != nil {
		return none, err
	}
	if list := f.unaccepted(accept, connects); len(list) > 0 {
		return none, &FilterError{Filters: list}
	}
	c := call{env: []string{"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"}, lingers: true}
	for _, name := range remoteEnv {
		if value, ok := os.LookupEnv(name); ok {
			c.env = append(c.env, name+"="+value)
		}
	}
	const ssh = "core.sshcommand"
	if os.Getenv("GIT_SSH_COMMAND")+os.Getenv("GIT_SSH") == "" && len(f.commands[ssh])+len(f.otherCommands[ssh]) == 0 {
		c.set = settings{{ssh, "ssh -o BatchMode=yes"}}
	}
	return c, nil
}

// connects reports whether a setting is a command that is run to connect to a remote repository, or
// for a password.
func connects(key string) bool {
	name := key[strings.LastIndexByte(key, '.')+1:]
	switch section, _, _ := strings.Cut(key, "."); section {
	case "core":
		return name == "sshcommand" || name == "askpass" || name == "gitproxy"
	case "credential":
		return name == "helper"
	case "remote":
		return name == "uploadpack" || name == "receivepack" || name == "vcs"
	}
	return false
}

// RemoteCommands lists the commands of the repository's own configuration that git runs to connect to a
// remote repository, or for a password, as Filters lists filters.
func (r *Repo) RemoteCommands(ctx context.Context) ([]string, error) {
	f, err := r.filters(ctx)
	return f.unaccepted(nil, connects), err
}

// hookMemory is what a hook may allocate: it may run all tests.
const hookMemory = 1 << 40

// privateHooks begins the names of the directories with the hook of a push.
const privateHooks = "bossman-hooks-"

// pushHooks returns a directory with the repository's hook pre-push, and no other one, and a function
// that removes it. The hook is called where it is, since it may call others beside it.
func (r *Repo) pushHooks(ctx context.Context) (dir string, remove func(), err error) {
	f, err := r.filters(ctx)
	if err != nil {
		return "", nil, err
	}
	hook := filepath.Join(r.Common, "hooks", "pre-push")
	if f.hooksPath != "" {
		hook = filepath.Join(resolve(r.Root, home(f.hooksPath)), "pre-push")
	}
	if info, err := os.Stat(hook); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return os.DevNull, func() {}, nil
	}
	removeOld(r.Common, privateHooks, time.Now().Add(-maxIndexAge))
	if dir, err = os.MkdirTemp(r.Common, privateHooks); err != nil {
		return "", nil, err
	}
	script := "#!/bin/sh\nexec '" + strings.ReplaceAll(filepath.ToSlash(hook), "'", `'\''`) + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "pre-push"), []byte(script), 0o700); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
