package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	// RemoteElsewhere means that pushes go to another repository than fetches come from.
	RemoteElsewhere RemoteKind = "elsewhere"
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
		RemoteElsewhere:   "does not have what was pushed",
	}[e.Kind]
	next := ""
	if e.Kind == RemoteElsewhere {
		next = "; nothing counts as landed until it is there: make both one repository, git remote -v shows the addresses"
	}
	return fmt.Sprintf("remote %.80q %s: %.400q%s", e.Remote, what, e.Words, next)
}

func (e *RemoteError) Unwrap() error { return e.err }

// maxWords bounds the words of a RemoteError.
const maxWords = 1000

// Push makes a ref of a remote repository name a commit: refs/heads/main, or one below refs/bossman, whose name there is that
// of SharedRef. Nothing is forced: the commit has to have what the ref names there. The error is a *RemoteError
// if the push did not succeed; after another one, such as that of the context, nobody knows whether it did.
//
// The user's own credential helpers run, and, other than everywhere else, the hook pre-push. What RemoteCommands
// lists has to be accepted. The push is made from the main worktree: an agent may write the others.
func (r *Repo) Push(ctx context.Context, remote, commit, ref string, accept func(command string) bool) error {
	if !IsObject(commit) || !validRef(ref) || !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/bossman/") {
		return fmt.Errorf("%.80q is not the name of a commit, or %.80q not that of a ref that is pushed", commit, ref)
	}
	tracking := strings.Replace(ref, "refs/heads/", "refs/remotes/"+remote+"/", 1)
	old := r.Ref(tracking)
	to := ref
	if tracking == ref {
		to = SharedRef(ref, commit)
	}
	elsewhere, err := r.push(ctx, remote, accept, []string{"--no-force-with-lease"}, commit+":"+to)
	if err != nil {
		return err
	}
	if !elsewhere && tracking != ref && old != "" && old != commit {
		_ = r.SetRef(ctx, tracking, commit, old) // else the next fetch sets it, or says why not
	}
	return nil
}

// Unpush deletes refs of a remote repository that name these commits: some below refs/bossman, or branches below
// refs/heads/bossman. One that names something else stays, and the error is a *RemoteError of kind
// RemoteMoved then. What runs is as for Push.
func (r *Repo) Unpush(ctx context.Context, remote string, refs map[string]string, accept func(command string) bool) error {
	var leases, specs []string
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if !IsObject(refs[ref]) || !validRef(ref) || !strings.HasPrefix(ref, "refs/bossman/") && !strings.HasPrefix(ref, "refs/heads/bossman/") {
			return fmt.Errorf("%.80q is not a ref that is deleted", ref)
		}
		leases = append(leases, "--force-with-lease="+ref+":"+refs[ref])
		specs = append(specs, ":"+ref)
	}
	if len(specs) == 0 {
		return nil
	}
	_, err := r.push(ctx, remote, accept, leases, specs...)
	return err
}

// push pushes what git calls refspecs. elsewhere is set if that is not where fetches come from.
func (r *Repo) push(ctx context.Context, remote string, accept func(command string) bool, options []string, specs ...string) (elsewhere bool, err error) {
	to, err := r.contact(ctx, remote, pushing, accept)
	if err != nil {
		return false, err
	}
	hooks, remove, err := to.hook.install()
	if err != nil {
		return false, err
	}
	defer remove()
	r, c := to.repo, to.call
	rejected, said := false, ""
	c.config = []string{"core.hooksPath=" + hooks}
	c.args = slices.Concat([]string{"push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules", "--no-signed"}, options, []string{"--", remote}, specs)
	c.one, c.warned = &rejected, &said
	c.memory = hookMemory
	out, err := r.write(ctx, c)
	if err != nil {
		return false, unreachable(ctx, remote, err)
	}
	if !rejected {
		return to.elsewhere(), nil
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
	return false, &RemoteError{Remote: remote, Kind: kind, Words: words(said)}
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
func (r *Repo) FetchBranch(ctx context.Context, remote, branch string, accept func(command string) bool) (commit string, err error) {
	from, to := "refs/heads/"+branch, "refs/remotes/"+remote+"/"+branch
	if !validRef(from) || !validRef(to) {
		return "", fmt.Errorf("%.80q is no name of a branch", branch)
	}
	for range fetchTries {
		if err := r.CanSet(to); err != nil {
			return "", err
		}
		old := r.Ref(to)
		if commit, err = r.fetch(ctx, remote, fetching, accept, from); err != nil || commit == old {
			return commit, err
		}
		err = r.SetRef(ctx, to, commit, cmp.Or(old, strings.Repeat("0", len(commit))))
		if err == nil || ctx.Err() != nil {
			return commit, err
		}
		if r.Ref(to) != old { // another fetch was first
			return commit, nil
		}
	}
	return "", err
}

// FetchRef fetches a state that Push has pushed into its ref here, and reports whether it is there. The commit is that of the
// state, or what Short leaves of it; what the remote repository has of another board is left there. It is an error if the ref here
// has something else already.
func (r *Repo) FetchRef(ctx context.Context, remote, ref, commit string, accept func(command string) bool) (bool, error) {
	if !validRef(ref) || !strings.HasPrefix(ref, "refs/bossman/") {
		return false, fmt.Errorf("%.80q is no name of a ref that is fetched", ref)
	}
	if err := r.CanSet(ref); err != nil {
		return false, err
	}
	got := ""
	for _, from := range []string{SharedRef(ref, commit), ref} { // older versions push it under the name that it has here
		if Short(commit) == "" || !validRef(from) {
			continue
		}
		there, err := r.fetch(ctx, remote, fetching, accept, from)
		if err != nil {
			return false, err
		}
		if strings.HasPrefix(there, commit) {
			got = there
			break
		}
	}
	old := r.Ref(ref)
	if got == "" || got == old {
		return got != "", nil
	}
	if old != "" {
		newer, err := r.Contains(ctx, got, old)
		if err != nil {
			return false, err
		}
		if !newer {
			return false, fmt.Errorf("%q has something else here than at remote %.80q", ref, remote)
		}
	}
	err := r.SetRef(ctx, ref, got, cmp.Or(old, strings.Repeat("0", len(got))))
	return err == nil, err
}

// RemoteStates is States for a remote repository. What runs is as for FetchBranch.
func (r *Repo) RemoteStates(ctx context.Context, remote string, accept func(command string) bool) (map[string]string, error) {
	from, err := r.contact(ctx, remote, fetching, accept)
	if err != nil {
		return nil, err
	}
	r, c := from.repo, from.call
	c.args = []string{"ls-remote", "--quiet", "--refs", "--", remote, "refs/bossman/*"}
	out, err := r.write(ctx, c)
	if err != nil {
		return nil, unreachable(ctx, remote, err)
	}
	states := map[string]string{}
	for line := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if name, ok := strings.CutPrefix(ref, "refs/bossman/"); ok && validRef(ref) && IsObject(commit) {
			states[name] = commit
		}
	}
	return states, nil
}

// fetchTries is how often a branch is fetched: another fetch may set the same remote-tracking branch.
const fetchTries = 10

// privateFetches begins the names of the directories in which git notes what it has fetched.
const privateFetches = "fetch-"

// fetch fetches the commit that a ref of a remote repository names; empty if there is no such ref. git sets no ref
// for it, and notes what it has fetched in a directory of Bossman's own: in the time that it takes, anybody can put a
// symbolic link in the place of a ref, or of its log.
func (r *Repo) fetch(ctx context.Context, remote string, way way, accept func(command string) bool, ref string) (string, error) {
	defer r.last.Store(nil) // history may be cut elsewhere now
	from, err := r.contact(ctx, remote, way, accept)
	if err != nil {
		return "", err
	}
	r, c := from.repo, from.call
	defer r.last.Store(nil)
	c.fetches = true
	all, err := privateDir()
	if err != nil {
		return "", err
	}
	removeOld(all, privateFetches, time.Now().Add(-maxIndexAge))
	dir, err := os.MkdirTemp(all, privateFetches)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/bossman-none\n"), 0o600); err != nil {
		return "", err
	}
	c.env = append(c.env, "GIT_DIR="+dir)
	c.set = append(c.set, setting{"remote." + remote + ".followremotehead", "never"})
	c.args = []string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules", "--refmap=", "--write-fetch-head", "--", remote, ref}
	c.memory = r.readMemory() + addMemory
	_, err = r.write(ctx, c)
	if e, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil && strings.Contains(e.Output, "couldn't find remote ref ") {
		return "", nil
	}
	if err != nil {
		return "", unreachable(ctx, remote, err)
	}
	text, err := readSmall(filepath.Join(dir, "FETCH_HEAD"))
	commit, _, _ := strings.Cut(text, "\t")
	if err == nil && !IsObject(commit) {
		err = fmt.Errorf("git has fetched nothing of %q", ref)
	}
	return commit, err
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

// A way is what a remote repository is asked for.
type way string

const (
	fetching    way = "fetching"
	pushing     way = "pushing"
	lookingBack way = "looking back" // fetches from where pushes go
)

// A contact is a connection to a remote repository that was looked at and accepted. Nobody is asked for a password.
type contact struct {
	repo *Repo // the main worktree
	call call  // of git there, which knows no other address of the remote repository than the one that was looked at
	hook prePush
	from string   // where it is fetched from
	push []string // where pushes go
}

// elsewhere reports whether pushes do not go where fetches come from.
func (c *contact) elsewhere() bool { return !slices.Contains(c.push, c.from) }

// contact looks at all that decides where and how git connects to a remote repository, once. What it is
// configured to be later has no effect on the call that it returns.
func (r *Repo) contact(ctx context.Context, remote string, way way, accept func(command string) bool) (*contact, error) {
	if !validRef("refs/remotes/"+remote) || strings.HasPrefix(remote, "-") {
		return nil, fmt.Errorf("%.80q is no name of a remote", remote)
	}
	r, err := r.main()
	if err != nil {
		return nil, err
	}
	f, err := r.filters(ctx)
	if err != nil {
		return nil, err
	}
	to := &contact{repo: r}
	if to.from, to.push = f.addresses(remote); to.from == "" {
		return nil, fmt.Errorf("there is no remote %.80q", remote)
	}
	if f.loose != "" { // who writes it says where the work goes, and by which proxy
		return nil, fmt.Errorf("git's configuration includes %q, which lies where an agent can change it, in a worktree or a directory for temporary files: nothing is pushed or fetched; include a file elsewhere", f.loose)
	}
	if to.hook, err = r.prePush(ctx); err != nil {
		return nil, err
	}
	urls := to.push
	if way == fetching {
		urls = []string{to.from}
	}
	if err := r.checkPaths(ctx, remote, urls); err != nil {
		return nil, err
	}
	if list := f.remotely(to.hook, accept, remote); len(list) > 0 {
		return nil, &FilterError{Filters: list, Remote: true}
	}
	c := call{env: []string{"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"}, lingers: true}
	if c.frozen, err = r.only(f.frozen, remote, urls); err != nil {
		return nil, err
	}
	c.set = c.frozen.given(func(key, value string) bool { return connects(key) || reaches(key, value) })
	for _, name := range remoteEnv {
		if value, ok := os.LookupEnv(name); ok {
			c.env = append(c.env, name+"="+value)
		}
	}
	const ssh = "core.sshcommand"
	if os.Getenv("GIT_SSH_COMMAND")+os.Getenv("GIT_SSH") == "" && len(f.commands[ssh])+len(f.otherCommands[ssh]) == 0 {
		c.set = append(c.set, setting{ssh, "ssh -o BatchMode=yes"})
	}
	to.call = c
	return to, nil
}

// main returns the main worktree, or the bare repository.
func (r *Repo) main() (*Repo, error) {
	if r.Dir == r.Common {
		return r, nil
	}
	main, ok := Main(r.Common)
	if !ok {
		return nil, fmt.Errorf("%q has no main worktree to push and fetch from", r.Common)
	}
	main.Own = r.Own
	return main, nil
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
// remote repository, or for a password, and the settings by which it sends or writes something elsewhere then, as Filters lists
// filters; the hook pre-push, unless it is the user's own; and the addresses of remote repositories that are not reached over the
// network, as remote.NAME.url=ADDRESS, or pushurl if only pushes go there: as git uses them, rewritten if the configuration says so.
func (r *Repo) RemoteCommands(ctx context.Context) ([]string, error) {
	r, err := r.main()
	if err != nil {
		return nil, err
	}
	f, err := r.filters(ctx)
	if err != nil {
		return nil, err
	}
	hook, err := r.prePush(ctx)
	return f.remotely(hook, nil, f.remotes()...), err
}

// remotely lists what RemoteCommands lists and is not accepted, with the addresses of some remote repositories.
func (f configured) remotely(hook prePush, accept func(command string) bool, remotes ...string) []string {
	list := f.unaccepted(accept, connects)
	for _, remote := range remotes {
		for _, text := range f.local(remote) {
			if accept == nil || !accept(text) {
				list = append(list, text)
			}
		}
	}
	for _, l := range f.lines {
		if text := filterText(l.key, l.value); l.own && reaches(l.key, l.value) && !connects(l.key) && (accept == nil || !accept(text)) {
			list = append(list, text)
		}
	}
	if hook.text != "" && (accept == nil || !accept(hook.text)) {
		list = append(list, hook.text)
	}
	return list
}
