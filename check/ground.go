package check

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// A ground is where the work of a task may be in a clone: in the worktrees in which its workers were, and in those that were made since it was
// first handed out and in which no worker of another task was. What was made in others is not its work.
type ground struct {
	own, others []*git.Repo
	// attempts are the attempts at the task that were in a worktree, by the top of that, the newest first. Those that were made since have none.
	attempts map[string][]board.Attempt
	// foreign are the claims with which other tasks were handed out in a worktree, by the name of its top in notes, but for those whose worker
	// was told to work elsewhere.
	foreign map[string][]board.Handle
}

// ground returns where the work of a task may be. taken reports whether a place belongs to another task.
func (i *Inspector) ground(repo *git.Repo, w board.Work, taken func(board.Where) bool) ground {
	g := ground{attempts: map[string][]board.Attempt{}, foreign: map[string][]board.Handle{}}
	for name, words := range i.notes(repo).all("begun") {
		task, nonce, _ := strings.Cut(name, ".")
		if id, err := board.ParseID(task); err == nil && id != w.Task && len(words) > 0 && !i.notes(repo).has("told", name) {
			g.foreign[words[0]] = append(g.foreign[words[0]], board.Handle{Task: id, Nonce: nonce})
		}
	}
	for _, tree := range repo.Worktrees() {
		attempts := i.attemptsIn(repo, w, tree)
		switch {
		case tree.Root == repo.Room():
			continue
		case len(attempts) > 0 && (!slices.ContainsFunc(attempts, func(a board.Attempt) bool { return a.Where.Away() }) || !i.isOfOthers(repo, w, tree, taken)):
			g.attempts[tree.Root] = attempts
			g.own = append(g.own, tree)
		case i.isSince(tree, w) && len(g.foreign[pathName(tree.Root)]) == 0 && !i.isOfOthers(repo, w, tree, taken):
			g.own = append(g.own, tree)
		default:
			g.others = append(g.others, tree)
		}
	}
	return g
}

// attemptsIn returns the attempts at a task whose workers were in a worktree: they were seen there, or were handed the task there and not seen where
// they were told to work. What bossman work has stored of an attempt is said to be in the main worktree, where its branch never was.
func (i *Inspector) attemptsIn(repo *git.Repo, w board.Work, tree *git.Repo) (list []board.Attempt) {
	here := i.stand(repo)
	here.Dir = tree.Root
	for _, a := range w.Attempts {
		if a.Handle == w.Claim && w.Place.Dir != "" {
			a.Where = w.Place
		}
		begun, _ := i.notes(repo).read("begun", noteName(a.Handle))
		there := len(begun) > 0 && begun[0] == pathName(tree.Root) && (a.Where.Ordered == "" || a.Where.Away())
		if there || a.Where.In(here) && (a.Where.Branch == "" || tree.HadBranch(a.Where.Branch)) {
			list = append(list, a)
		}
	}
	return list
}

// isSince reports whether a worktree was made since a task was first handed out here.
func (i *Inspector) isSince(tree *git.Repo, w board.Work) bool {
	before, known := i.looseBefore(tree, i.firstHere(tree, w))
	return known && before.files == nil
}

// isOfOthers reports whether a worktree has the branch of another task, or a worker of one is there.
func (i *Inspector) isOfOthers(repo *git.Repo, w board.Work, tree *git.Repo, taken func(board.Where) bool) bool {
	at := i.stand(repo)
	at.Dir = tree.Root
	if head, err := tree.Head(); err == nil {
		at.Branch = head.Branch
	}
	return slices.ContainsFunc(w.Others, func(o board.Claim) bool { return beside(o, w, at) }) || taken(at)
}

// maxMade is how many commits of a task are looked at, the newest ones.
const maxMade = 200

// made returns the commits that were made while a task was worked on and that no other one of them contains, by the logs of git: those of HEAD in its
// worktrees, and those of branches, but for commits that were made in worktrees of others or are on the branch of another task.
func (i *Inspector) made(ctx context.Context, repo *git.Repo, w board.Work, g ground, taken func(board.Where) bool) (found []candidate) {
	here := i.stand(repo)
	add := func(c candidate, attempts []board.Attempt) {
		if during(attempts, c.made) && !slices.ContainsFunc(found, func(f candidate) bool { return f.commit == c.commit }) {
			found = append(found, c)
		}
	}
	all := slices.DeleteFunc(slices.Clone(w.Attempts), func(a board.Attempt) bool { return !a.Where.SameClone(here) })
	branches, tips := repo.Branches(), map[string]string{}
	for branch, commit := range branches {
		tips[commit] = max(tips[commit], branch)
	}
	inTree := map[string]bool{} // made in a worktree that is still there
	for _, tree := range g.own {
		attempts, ok := g.attempts[tree.Root]
		if !ok {
			attempts = all
		}
		for commit, at := range tree.MadeHere() {
			inTree[commit] = true
			add(candidate{branch: tips[commit], commit: commit, made: at}, attempts)
		}
	}
	for _, tree := range g.others {
		for commit := range tree.MadeHere() {
			inTree[commit] = true
		}
	}
	for branch := range branches {
		if isTarget(w.Land, branch) {
			continue
		}
		for commit, at := range repo.MadeOn(branch) {
			on := here
			if on.Dir, on.Branch = "", branch; !inTree[commit] && during(all, at) && !taken(on) {
				add(candidate{branch: tips[commit], commit: commit, made: at}, all)
			}
		}
	}
	found = slices.DeleteFunc(found, func(c candidate) bool {
		return slices.ContainsFunc(w.Others, func(o board.Claim) bool {
			return o.Task != w.Task && c.branch != "" && (o.Where.Branch == c.branch || o.Where.Ordered == c.branch) && o.Where.SameClone(here)
		})
	})
	slices.SortFunc(found, newestFirst)
	found = found[:min(len(found), maxMade)]
	var commits []string
	for _, c := range found {
		commits = append(commits, c.commit)
	}
	if last, err := repo.Independent(ctx, commits); err == nil { // else some may be gone
		found = slices.DeleteFunc(found, func(c candidate) bool { return !slices.Contains(last, c.commit) })
	}
	return found
}

// stashed returns what was put away with git stash while a task was worked on, but for what was on a branch that only others had.
func (i *Inspector) stashed(repo *git.Repo, w board.Work, g ground, taken func(board.Where) bool) (found []candidate) {
	here := i.stand(repo)
	all := slices.DeleteFunc(slices.Clone(w.Attempts), func(a board.Attempt) bool { return !a.Where.SameClone(here) })
	for _, s := range slices.Backward(repo.Stashes()) {
		had := func(tree *git.Repo) bool { return tree.HadBranch(s.Branch) }
		on := here
		on.Dir, on.Branch = "", s.Branch
		if during(all, s.At) && (s.Branch == "" || slices.ContainsFunc(g.own, had) || !slices.ContainsFunc(g.others, had) && !taken(on)) {
			found = append(found, candidate{commit: s.Commit, made: s.At, stash: true})
		}
	}
	return found
}

// looseOf returns the files of a task that are not committed in one of its worktrees. A file is of an attempt if it is new or changed since that
// was handed out, and lay there when the next task was handed out in this worktree. What is not known may be so.
func (i *Inspector) looseOf(ctx context.Context, tree *git.Repo, w board.Work, g ground) (git.Loose, error) {
	files, err := i.loose(ctx, tree)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	n := i.notes(tree)
	if by, ok := n.read("left", leftName(tree, files)); ok && len(by) > 0 && by[0] != w.Task.String() {
		return nil, nil
	}
	for _, path := range untracked(files, i.written(tree, w)) {
		delete(files, path)
	}
	type handout struct {
		own, known bool
		at         time.Time
		before     lain
	}
	var handouts []handout
	add := func(claim board.Handle, own bool) {
		h := handout{own: own}
		h.at, _ = n.written("begun", noteName(claim))
		h.before, h.known = i.looseBefore(tree, claim)
		handouts = append(handouts, h)
	}
	for _, claim := range g.foreign[pathName(tree.Root)] {
		add(claim, false)
	}
	for _, a := range slices.Backward(g.attempts[tree.Root]) {
		add(a.Handle, true)
	}
	slices.SortStableFunc(handouts, func(a, b handout) int { return a.at.Compare(b.at) })
	maps.DeleteFunc(files, func(path string, f git.LooseFile) bool {
		for n, h := range handouts {
			isNew := h.own && (!h.known || h.before.counts(path, f))
			if isNew && (n == len(handouts)-1 || !handouts[n+1].known || handouts[n+1].before.had(path)) {
				return false
			}
		}
		return len(handouts) > 0
	})
	return files, nil
}
