package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Style is how the work of a task gets into a target.
type Style string

const (
	// Squash makes one commit of it, also if the style is empty.
	Squash Style = "squash"
	// Rebase makes each commit again on top of the target. If the work has merges, or if its commits
	// one by one do not end with the files of the whole, it is one commit as with Squash.
	Rebase Style = "rebase"
	// Merge makes a commit with two parents.
	Merge Style = "merge"
)

// A Candidate is work that is to get into a target, as commits of the repository.
type Candidate struct {
	// Target is the target's newest commit, empty if it has none yet.
	Target string
	// Tip is the newest commit of the work.
	Tip string
	// Style is how the work gets into the target.
	Style Style
	// Message is that of the new commit. The commits of a Rebase keep theirs.
	Message string
	// Landed are tips that got into the target in another form, as far as they are known. Work that
	// goes on from such a tip, or from a commit on the way to it, is merged as if the target had it:
	// it does not conflict with itself, and what one of them dropped stays away.
	Landed []Landing
	// Undone are tips that were in the target once and were undone, so that what they have is not
	// there. They are not among Landed.
	Undone []string
	// Base is the commit from which Target and Tip went apart, if it is known.
	Base string
	// Shown is the commit since which reviewers were shown what the work changes; empty if that is not to be compared.
	Shown string
}

// A Landing is a tip that is in a target in another form.
type Landing struct {
	// Commit is the commit of the target that has the work, and Tip the newest commit of the work.
	Commit, Tip string
}

// A Merged is what came of a candidate.
type Merged struct {
	// Commit is the new commit on top of the target; the target itself if Same is set, and empty if
	// there are conflicts or something is missing.
	Commit string
	// Tree is the tree of the commit.
	Tree string
	// Same is set if the work has nothing that the target does not have.
	Same bool
	// Style is how the work got in: Squash in place of a Rebase that is not possible.
	Style Style
	// Conflicts are the files that both have changed in different ways, sorted. A name may have any
	// byte but NUL.
	Conflicts []string
	// Missing are files of the work, sorted, that would not get what reviewers were shown, though nothing else has
	// changed them at the same place: the work, or a part of it, was in the target before, and was taken out.
	Missing []string
}

// ErrUnrelated means that two commits have no common ancestor, so that nobody can tell what has
// changed in each.
var ErrUnrelated = errors.New("git: the commits have no common ancestor")

// A HistoryError says that a clone does not have what is needed for a merge.
type HistoryError struct {
	// Why is a sentence with what to do.
	Why string
	err error
}

func (e *HistoryError) Error() string { return e.Why }

func (e *HistoryError) Unwrap() error { return e.err }

const (
	// mergeMinor is the 2.x of the first version of git that merges without a worktree.
	mergeMinor = 38
	// signTime is how long a commit may take to be signed: somebody may have to be asked.
	signTime = 20 * time.Second
	// mergeTime is how long a merge may take.
	mergeTime = 5 * time.Minute
)

// Candidate merges work with a target and stores the result as a commit. Nothing is checked out,
// and no ref or index changes; which merge drivers apply is read from the .gitattributes of this
// worktree. It runs no hook. Of the repository's own configuration it runs those filters and merge
// drivers that accept accepts, as Filters lists them; if another one has to run, the error is
// a *FilterError. The author is that of the tip. If commit.gpgSign is set, new commits are signed; a *SignError
// says that this was not possible.
//
// It is an *OldError if git cannot merge in this way, a *HistoryError if a shallow or partial
// clone lacks what is needed, and ErrUnrelated if there is no common ancestor.
func (r *Repo) Candidate(ctx context.Context, c Candidate, accept func(filter string) bool) (Merged, error) {
	m, err := r.merger(ctx, accept)
	if err != nil {
		return Merged{}, err
	}
	return m.candidate(ctx, c)
}

// A merger merges commits of a repository without a checkout.
type merger struct {
	*Repo
	set     settings // for merging
	refused []string // the commands that set turns off
	memory  int64
	sign    bool
	signer  settings // the repository's own, which were accepted
}

func (r *Repo) merger(ctx context.Context, accept func(filter string) bool) (*merger, error) {
	if v, err := r.version(); err != nil {
		return nil, err
	} else if !v.has(mergeMinor) {
		return nil, &OldError{Version: string(v), Needs: fmt.Sprintf("2.%d", mergeMinor)}
	}
	if r.Bare {
		return nil, fmt.Errorf("%w: git merges by the .gitattributes of a worktree, and no files are checked out in %q", ErrNoRepo, r.Root)
	}
	f, err := r.filters(ctx)
	if err != nil {
		return nil, err
	}
	if list := f.signers(accept); len(list) > 0 {
		return nil, &FilterError{Filters: list}
	}
	// With merge.renormalize git runs filters, too.
	set, refused := f.accepted(accept, func(key string) bool { return stores(key) || fills(key) })
	run, drivers := f.drivers(accept)
	m := &merger{Repo: r, set: append(set, run...), refused: append(refused, drivers...), memory: r.readMemory() + addMemory, sign: f.signs, signer: f.given(func(key, _ string) bool { return signer(key) })}
	if len(f.own)+len(f.others)+len(f.commands)+len(f.otherCommands) > 0 {
		m.memory += filterMemory
	}
	return m, nil
}

func (m *merger) candidate(ctx context.Context, c Candidate) (Merged, error) {
	commits := []string{c.Tip}
	if c.Target != "" {
		commits = append(commits, c.Target)
	}
	trees, err := m.trees(ctx, commits...)
	if err != nil {
		return Merged{}, err
	}
	had, err := m.had(ctx, c)
	if err != nil {
		return Merged{}, err
	}
	ours := c.Target
	if len(had) > 0 { // a squash is so for git what a merge would have been
		if ours, err = m.graft(ctx, c.Target, append([]string{c.Target}, had...)...); err != nil {
			return Merged{}, err
		}
	}
	tree, conflicts, err := m.merge(ctx, ours, c.Tip)
	if err != nil || len(conflicts) > 0 {
		return Merged{Conflicts: conflicts, Style: c.Style}, err
	}
	missing, err := m.missing(ctx, c, had, tree)
	if err != nil || len(missing) > 0 {
		return Merged{Missing: missing, Tree: tree, Style: c.Style}, err
	}
	if c.Target != "" && tree == trees[1] {
		return Merged{Commit: c.Target, Tree: tree, Same: true, Style: c.Style}, nil
	}
	switch c.Style {
	case Rebase:
		commit, err := m.rebase(ctx, c, had, tree)
		if err != nil || commit != "" {
			return Merged{Commit: commit, Tree: tree, Style: Rebase}, err
		}
	case Merge:
		if c.Target == "" {
			return Merged{Commit: c.Tip, Tree: tree, Style: Merge}, nil
		}
		return m.commit(ctx, c, tree, Merge, c.Target, c.Tip)
	case Squash, "":
	default:
		return Merged{}, fmt.Errorf("%.40q is not one of the styles: squash, rebase, merge", c.Style)
	}
	if c.Target == "" {
		return m.commit(ctx, c, tree, Squash)
	}
	return m.commit(ctx, c, tree, Squash, c.Target)
}

// commit stores the new commit of a candidate, with the author of its tip.
func (m *merger) commit(ctx context.Context, c Candidate, tree string, style Style, parents ...string) (Merged, error) {
	written, err := m.readCommits(ctx, c.Tip)
	if err != nil {
		return Merged{}, err
	}
	commit, err := m.store(ctx, tree, parents, record{author: written[0].author, message: c.Message})
	return Merged{Commit: commit, Tree: tree, Style: style}, err
}

// had returns the tips that the target has in another form and with which the work has something in common.
func (m *merger) had(ctx context.Context, c Candidate) (tips []string, err error) {
	if c.Target == "" || len(c.Landed) == 0 {
		return nil, nil
	}
	there, work, err := m.apart(ctx, c.Target, c.Tip)
	if err != nil {
		return nil, err
	}
	var landed []string
	for _, l := range c.Landed {
		// If the tip has the commit of the target, it has been merged with it.
		if there[l.Commit] && IsObject(l.Tip) && !slices.Contains(landed, l.Tip) {
			landed = append(landed, l.Tip)
		}
	}
	if len(landed) == 0 {
		return nil, nil
	}
	// What was undone is not in the target, though work may have landed that was built on it.
	fork := work
	if len(c.Undone) > 0 {
		if fork, err = m.Only(ctx, c.Tip, append([]string{c.Target}, c.Undone...)...); err != nil {
			return nil, err
		}
	}
	parents, err := m.parents(ctx, landed, c.Target)
	if err != nil {
		return nil, err
	}
	shares := map[string]bool{} // the commits that have one of the fork's
	for _, commit := range parents.order {
		shares[commit] = fork[commit] || slices.ContainsFunc(parents.of[commit], func(p string) bool { return shares[p] })
	}
	return slices.DeleteFunc(landed, func(tip string) bool { return !work[tip] && !shares[tip] }), nil
}

// graft stores a commit with the files of another one and with other parents. It is the same commit
// each time.
func (m *merger) graft(ctx context.Context, files string, parents ...string) (string, error) {
	tree, err := m.Repo.Tree(ctx, files)
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "-m", "to merge", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	var env []string
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+who+"_NAME=Bossman", "GIT_"+who+"_EMAIL=bossman@localhost", "GIT_"+who+"_DATE=@1000000000 +0000")
	}
	out, err := m.write(ctx, call{args: args, env: env, set: settings{{"i18n.commitEncoding", "UTF-8"}}})
	return strings.TrimSpace(out), err
}

// merge merges two commits, and returns the tree or the files with conflicts. Without the first one,
// the tree is that of the second.
func (m *merger) merge(ctx context.Context, ours, theirs string) (tree string, conflicts []string, err error) {
	if ours == "" {
		tree, err = m.Repo.Tree(ctx, theirs)
		return tree, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, mergeTime)
	defer cancel()
	conflict, warned := false, ""
	out, err := m.write(limited, call{
		args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs},
		set:  m.set, memory: m.memory, one: &conflict, warned: &warned,
	})
	if ctx.Err() == nil && len(m.refused) > 0 && (err != nil || conflict) && strings.Contains(warned, refusedMark) {
		return "", nil, &FilterError{Filters: m.refused, err: err}
	}
	if err != nil {
		return "", nil, m.explain(ctx, refusal(err, m.refused), ours, theirs)
	}
	tree, conflicts, err = parseMerge(out, conflict)
	return tree, conflicts, err
}

// explain returns what is wrong if git could not merge two commits.
func (m *merger) explain(ctx context.Context, err error, ours, theirs string) error {
	if _, ok := errors.AsType[*Error](err); !ok || ctx.Err() != nil {
		return err
	}
	related, failed := m.Related(ctx, ours, theirs)
	_, shallow := os.Lstat(filepath.Join(m.Common, "shallow"))
	switch {
	case failed == nil && !related && shallow == nil:
		return &HistoryError{"this clone is shallow, and does not have the commit from which the work and the target went apart: run git fetch --unshallow", err}
	case failed == nil && !related:
		return ErrUnrelated
	case m.partial():
		return &HistoryError{"this clone is partial, and does not have all objects that the merge needs: " + refetch, err}
	}
	return err
}

// refetch says how a partial clone gets everything, and goes on to: without the setting the next fetch leaves nothing out.
const refetch = "run git config --unset remote.origin.partialclonefilter and then git fetch --refetch, or land from a full clone"

// partial reports whether the clone leaves out objects until they are needed.
func (r *Repo) partial() bool {
	for key, value := range r.settings("config") {
		if key == "extensions.partialclone" || strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") && !isFalse(value) {
			return true
		}
	}
	return false
}

// parseMerge reads what git merge-tree -z --name-only --messages writes: the tree, the files that
// are not merged, and after an empty field the messages, each with the number of its paths, these, its kind
// and its text.
func parseMerge(out string, conflict bool) (tree string, files []string, err error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	tree = strings.TrimSpace(fields[0])
	if !IsObject(tree) {
		return "", nil, fmt.Errorf("git merge-tree: unexpected output %.100q", out)
	}
	if !conflict {
		return tree, nil, nil
	}
	fields = fields[1:]
	end := slices.Index(fields, "")
	if end < 0 {
		end = len(fields)
	}
	files = slices.Clone(fields[:end])
	// Some conflicts, such as of a directory that was renamed in two ways, leave no file unmerged.
	for rest := fields[min(end+1, len(fields)):]; len(files) == 0 && len(rest) > 0; {
		var n int
		if _, err := fmt.Sscanf(rest[0], "%d", &n); err != nil || n < 0 || len(rest) < n+3 {
			break
		}
		if paths, kind := rest[1:n+1], rest[n+1]; strings.HasPrefix(kind, "CONFLICT") {
			files = append(files, paths...)
		}
		rest = rest[n+3:]
	}
	if len(files) == 0 {
		return "", nil, fmt.Errorf("git merge-tree: a conflict without a file: %.200q", out)
	}
	slices.Sort(files)
	return tree, slices.Compact(files), nil
}

// MergeBase returns the commit from which two commits went apart, one if there are several. It is a
// *HistoryError if that cannot be told in a shallow clone.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	none := false
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"merge-base", "--end-of-options", a, b}, one: &none})
	base := strings.TrimSpace(out)
	if err == nil {
		err = r.unknown(ctx, base, a, b)
	}
	if err == nil && none {
		err = ErrUnrelated
	}
	return base, err
}
