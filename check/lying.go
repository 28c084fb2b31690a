package check

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// Lying returns the files at the place of some work that lay there, uncommitted, before the task was taken, and are
// no part of its work, and those that had uncommitted changes before and were changed or committed since. The place is one
// that Place returned.
func (i *Inspector) Lying(ctx context.Context, w board.Work) (board.Loose, error) {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil {
		return board.Loose{}, err
	}
	commit, checkedOut, err := tip(repo, w.Place)
	var l lying
	if err == nil && checkedOut {
		if l, err = i.lying(ctx, repo, w); err == nil {
			l.inside, err = i.inside(ctx, repo, w, l)
		}
	}
	if err == nil {
		err = i.carry(ctx, repo, w, commit, &l)
	}
	return l.told(), err
}

// inside returns the submodules and other repositories in a worktree in which something is not committed there, and is new or changed
// since a task was taken. l is what is no part of its work.
func (i *Inspector) inside(ctx context.Context, repo *git.Repo, w board.Work, l lying) (paths []string, err error) {
	if w.Place.Uncommitted == 0 || repo.Bare || l.unknown {
		return nil, nil
	}
	all, err := repo.Inside(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	now, err := repo.Loose(ctx)
	if err != nil {
		return nil, err
	}
	for _, path := range l.all() {
		delete(now, path)
	}
	before, _ := i.looseBefore(repo, w.Claim)
	if w.Slot {
		before = lain{}
	}
	for _, dir := range all {
		for path, f := range now {
			if strings.HasPrefix(path, dir+"/") && before.counts(path, f) { // a repository that nobody has added ends so
				paths = append(paths, dir)
				break
			}
		}
	}
	return paths, nil
}

// lying are loose files of a worktree that are not, or not only, the work of a task.
type lying struct {
	leftOut, mixed, written []string
	// rest is how many of the mixed ones have changes that are left out.
	rest int
	// inside are submodules and other repositories with something that no commit here has.
	inside []string
	// unknown is set if it is not known what lay there before: then all are left out.
	unknown bool
}

// all are those that are no part of the work.
func (l lying) all() []string { return slices.Concat(l.leftOut, l.written) }

// told returns what a report says of them.
func (l lying) told() board.Loose {
	shown := func(paths []string) (list []string) {
		for _, path := range paths[:min(len(paths), board.MaxLoose)] {
			list = append(list, strings.ToValidUTF8(path, "\uFFFD"))
		}
		return list
	}
	return board.Loose{
		LeftOut: shown(l.leftOut), More: max(0, len(l.leftOut)-board.MaxLoose), Mixed: shown(l.mixed), MoreMixed: max(0, len(l.mixed)-board.MaxLoose), Rest: l.rest,
		Written: shown(l.written), MoreWritten: max(0, len(l.written)-board.MaxLoose), Inside: shown(l.inside), Unknown: l.unknown && len(l.leftOut) > 0,
	}
}

// lying finds them. Where a worktree was made for the claim, there are only those that a check has made.
func (i *Inspector) lying(ctx context.Context, repo *git.Repo, w board.Work) (l lying, err error) {
	if repo.Bare {
		return l, nil
	}
	written := i.written(repo, w)
	before, known := i.looseBefore(repo, w.Claim)
	if w.Slot {
		before, known = lain{}, true
	}
	if known && before.isZero() && len(written) == 0 {
		return l, nil
	}
	now, err := repo.Loose(ctx)
	if err != nil {
		return l, err
	}
	l.written = untracked(now, written)
	for _, path := range l.written {
		delete(before.files, path)
		delete(now, path)
	}
	unwatched, err := repo.Unwatched(ctx)
	if err != nil {
		return l, err
	}
	if w.Slot {
		unwatched = nil
	}
	for _, path := range unwatched {
		if !known || before.wasHidden(path) {
			l.leftOut = append(l.leftOut, path)
		}
	}
	if !known {
		l.leftOut, l.unknown = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(l.leftOut, maps.Keys(now))))), true
		return l, nil
	}
	if before.isZero() {
		return l, nil
	}
	own, touched, err := i.earlier(ctx, repo, w, before)
	if err != nil {
		return l, err
	}
	hidden, err := hiddenBefore(ctx, repo, now, before)
	if err != nil {
		return l, err
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch {
		case own[path]:
		case hidden[path] || before.wasHidden(path):
			l.leftOut = append(l.leftOut, path)
		case !before.had(path):
		case !touched[path] && !before.counts(path, now[path]):
			l.leftOut = append(l.leftOut, path)
		default:
			l.mixed = append(l.mixed, path)
		}
	}
	slices.Sort(l.leftOut)
	l.leftOut = slices.Compact(l.leftOut)
	return l, err
}

// hiddenBefore returns which loose files git ignored when a task was taken, or would have, and are not in the commit that is checked out.
func hiddenBefore(ctx context.Context, repo *git.Repo, now git.Loose, before lain) (hidden map[string]bool, err error) {
	head, err := repo.Head()
	if err != nil {
		return nil, err
	}
	hidden = map[string]bool{}
	var staged []string
	var pairs [][2]string
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch {
		case !before.wasIgnored(path):
		case now[path].Untracked || head.Commit == "":
			hidden[path] = true
		default:
			staged, pairs = append(staged, path), append(pairs, [2]string{head.Commit, path})
		}
	}
	objects, err := repo.Objects(ctx, pairs)
	for n, path := range staged {
		hidden[path] = err == nil && objects[n] == ""
	}
	return hidden, err
}

// earlier returns which files that lay about in a worktree when a later attempt at a task began are of an earlier one:
// it has reported just this, or it has worked there since they were made or changed and has reported nothing. touched are those
// that it has reported, and that somebody has changed since.
func (i *Inspector) earlier(ctx context.Context, repo *git.Repo, w board.Work, before lain) (own, touched map[string]bool, err error) {
	if w.Claim == w.First {
		return nil, nil, nil
	}
	at := i.stand(repo)
	later := map[string]bool{} // changed since an attempt here began, and none has reported
	var oldest lain
	var anyKnown, first, reported bool
	look := func(claim board.Handle, here bool) {
		reported = reported || here && repo.Ref(claim.Ref()) != ""
		then, known := i.looseBefore(repo, claim)
		if !known {
			return
		}
		oldest, anyKnown = then, true
		for path, f := range before.files {
			later[path] = later[path] || here && !reported && then.counts(path, f)
		}
	}
	for _, a := range w.Attempts { // the newest first
		first = first || a.Handle == w.First
		if a.Attempt < w.Claim.Attempt {
			look(a.Handle, a.Where.In(at) && !(a.Cause == board.CauseFailed && a.Where.Uncommitted == 0)) // else it said that it left nothing
		}
	}
	if !first { // then the note says where it was
		words, _ := i.notes(repo).read("begun", noteName(w.First))
		look(w.First, len(words) > 0 && words[0] == pathName(repo.Root))
	}
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(before.files)) {
		if !anyKnown || oldest.counts(path, before.files[path]) {
			paths = append(paths, path)
		}
	}
	left, err := leftBy(ctx, &states{repo: repo, here: repo.States()}, w.Claim, paths, func(path string) string { return before.files[path].Blob })
	if err != nil {
		return nil, nil, err
	}
	own, touched = map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		alone := len(left.others[path]) == 0
		own[path] = left.own[path] || alone && later[path]
		touched[path] = alone && left.touched[path] && !own[path]
	}
	return own, touched, nil
}

// leavings are whose reported work has some content of files.
type leavings struct {
	// own are the files of which an earlier attempt at the task itself has reported just this content, and touched those that
	// it has changed.
	own, touched map[string]bool
	// others are the other tasks that have reported this content, with their commits.
	others map[string]map[board.ID]string
}

// maxLeavings bounds how many files of states are compared.
const maxLeavings = 100_000

// leftBy finds out whose reported work has some files with a content, an object by path, which is empty for no file. What was
// committed before the report does not count: that has a commit of its own. The claim is that of the newest attempt.
func leftBy(ctx context.Context, known *states, claim board.Handle, paths []string, content func(path string) string) (l leavings, err error) {
	l = leavings{own: map[string]bool{}, touched: map[string]bool{}, others: map[string]map[board.ID]string{}}
	task := claim.Task
	type question struct {
		path, name, commit string
		task               board.ID
		attempt            int
	}
	var asked []question
	var pairs [][2]string
	all := maps.Clone(known.there)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, known.here)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		commit := all[name]
		id, attempt, reported := git.ParseState(name, commit)
		of, err := board.ParseID(id)
		if err != nil || !reported || of.Project != task.Project || of == task && attempt >= claim.Attempt || len(pairs)+2*len(paths) > maxLeavings {
			continue
		}
		for _, path := range paths {
			asked = append(asked, question{path, name, commit, of, attempt})
			pairs = append(pairs, [2]string{commit, path}, [2]string{commit + "^", path})
		}
	}
	objects, err := known.repo.Objects(ctx, pairs)
	if err != nil {
		return l, err
	}
	for n, q := range asked {
		is, was := objects[2*n], objects[2*n+1]
		if is == was || q.task != task && is != content(q.path) {
			continue
		}
		if own, err := known.own(ctx, q.name, q.task, q.attempt, q.commit); err != nil {
			return l, err
		} else if !own {
			continue
		}
		switch {
		case q.task != task:
			if l.others[q.path] == nil {
				l.others[q.path] = map[board.ID]string{}
			}
			l.others[q.path][q.task] = q.commit
		default:
			l.touched[q.path] = true
			l.own[q.path] = l.own[q.path] || is == content(q.path)
		}
	}
	return l, nil
}

// taken returns the other tasks whose reported files lay about, uncommitted, when a task was taken, and are in commits of its
// work now: that includes theirs, though not their commits. What the target has as it is, too, is of no concern.
func (i *Inspector) taken(ctx context.Context, known *states, w board.Work, tip board.Tip) (list []board.Included, err error) {
	repo := known.repo
	at, err := i.at(w.Place)
	if err != nil || at == nil || w.Slot {
		return nil, err
	}
	before, _ := i.looseBefore(at, w.Claim)
	if len(before.files) == 0 {
		return nil, nil
	}
	now, err := target(repo, w.Land)
	if err != nil {
		return nil, err
	}
	if now == "" {
		now = tip.Base
	}
	var pairs [][2]string
	paths := slices.Sorted(maps.Keys(before.files))
	for _, path := range paths {
		pairs = append(pairs, [2]string{tip.Commit, path}, [2]string{tip.Base, path}, [2]string{now, path})
	}
	objects, err := repo.Objects(ctx, pairs)
	if err != nil {
		return nil, err
	}
	is := map[string]string{}
	for n, path := range paths {
		if o := objects[3*n:]; o[0] != o[1] && o[0] != o[2] {
			is[path] = o[0]
		}
	}
	paths = slices.Sorted(maps.Keys(is))
	left, err := leftBy(ctx, known, w.Claim, paths, func(path string) string { return is[path] })
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if left.own[path] {
			continue
		}
		for _, id := range slices.SortedFunc(maps.Keys(left.others[path]), func(a, b board.ID) int { return cmp.Compare(a.No, b.No) }) {
			n := slices.IndexFunc(list, func(t board.Included) bool { return t.Task == id })
			if n < 0 {
				n, list = len(list), append(list, board.Included{Task: id, Commit: left.others[path][id]})
			}
			if len(list[n].Files) < board.MaxLoose {
				list[n].Files = append(list[n].Files, path)
			}
		}
	}
	return list, nil
}
