package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A record is what a commit has besides files and parents.
type record struct {
	author   author
	encoding string // of the message, UTF-8 if it is empty
	message  string
}

// An author is who wrote a commit, and when, as git has it.
type author struct{ name, email, date string }

// env returns the author as variables for git; none if git would not accept it.
func (a author) env() []string {
	if strings.Trim(a.name, " .,:;<>\"\\'\t\r") == "" || a.date == "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=" + a.name, "GIT_AUTHOR_EMAIL=" + a.email, "GIT_AUTHOR_DATE=@" + a.date}
}

// person is the line of an author in a commit.
var person = regexp.MustCompile(`^author ([^<>\x00\n]*?) ?<([^<>\x00\n]*)> (\d{1,11} [+-]\d{4})$`)

// maxReplay bounds how many commits are made again one by one.
const maxReplay = 200

// rebase makes the commits of the work again on top of the target, and returns the last one. It is
// empty if they do not end with a tree. The target has what is in some commits, had.
func (m *merger) rebase(ctx context.Context, c Candidate, had []string, tree string) (string, error) {
	if c.Target == "" {
		return c.Tip, nil
	}
	args := []string{"rev-list", "--reverse", "--topo-order", "--parents", c.Tip, "^" + c.Target}
	for _, tip := range had {
		args = append(args, "^"+tip)
	}
	out, err := m.git(ctx, args...)
	if err != nil {
		return "", err
	}
	var names, parents []string
	for line := range strings.Lines(out) {
		commits := strings.Fields(line)
		if len(commits) != 2 { // a merge, or the first commit of another history
			return "", nil
		}
		names, parents = append(names, commits[0]), append(parents, commits[1])
	}
	if len(names) == 0 || len(names) > maxReplay {
		return "", nil
	}
	if parents[0] == c.Target && !m.sign {
		return c.Tip, nil
	}
	records, err := m.readCommits(ctx, names...)
	if err != nil {
		return "", err
	}
	now := c.Target
	for n, name := range names {
		if strings.ContainsRune(records[n].message, 0) { // git does not make such a commit
			return "", nil
		}
		if now, err = m.replay(ctx, now, name, parents[n], records[n]); err != nil || now == "" {
			return "", err
		}
	}
	end, err := m.Repo.Tree(ctx, now)
	if err != nil || end != tree {
		return "", err
	}
	return now, nil
}

// replay makes a commit again on top of another one, and returns the new one: the other one if
// nothing is left to change, and empty if there is a conflict.
func (m *merger) replay(ctx context.Context, onto, commit, parent string, rec record) (string, error) {
	base, err := m.graft(ctx, onto, parent)
	if err != nil {
		return "", err
	}
	tree, conflicts, err := m.merge(ctx, base, commit)
	if err != nil || len(conflicts) > 0 {
		return "", err
	}
	before, err := m.Repo.Tree(ctx, onto)
	if err != nil || tree == before {
		return onto, err
	}
	return m.store(ctx, tree, []string{onto}, rec)
}

// store stores a commit with the committer of git's configuration, signed if that says so.
func (m *merger) store(ctx context.Context, tree string, parents []string, rec record) (string, error) {
	args := []string{"commit-tree", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	env, err := m.identity(ctx)
	if err != nil {
		return "", err
	}
	encoding := "UTF-8"
	if rec.encoding != "" {
		encoding = rec.encoding
	}
	c := call{args: args, env: append(env, rec.author.env()...), set: settings{{"i18n.commitEncoding", encoding}}, stdin: rec.message}
	if !m.sign {
		c.args = append(c.args, tree)
		out, err := m.write(ctx, c)
		return strings.TrimSpace(out), err
	}
	c.args, c.set, c.memory = append(c.args, "-S", tree), append(c.set, m.signer...), m.readMemory()+filterMemory
	limited, cancel := context.WithTimeout(ctx, signTime)
	defer cancel()
	out, err := m.write(limited, c)
	if err != nil && ctx.Err() == nil {
		err = &SignError{err}
	}
	return strings.TrimSpace(out), err
}

// readCommits reads what some commits have besides files and parents.
func (r *Repo) readCommits(ctx context.Context, names ...string) ([]record, error) {
	out, err := r.run(ctx, call{args: []string{"cat-file", "--batch"}, stdin: strings.Join(names, "\n") + "\n"})
	if err != nil {
		return nil, err
	}
	records := make([]record, 0, len(names))
	for _, name := range names {
		head, rest, _ := strings.Cut(out, "\n")
		words := strings.Fields(head) // the name, the kind and the size
		if len(words) != 3 || words[1] != "commit" {
			return nil, fmt.Errorf("%w: %s", ErrNoCommit, name)
		}
		size, err := strconv.Atoi(words[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, errors.New("git cat-file: unexpected output")
		}
		records = append(records, readCommit(rest[:size]))
		out = rest[size+1:]
	}
	return records, nil
}

// readCommit reads a commit as git stores it.
func readCommit(text string) (rec record) {
	header, message, _ := strings.Cut(text, "\n\n")
	rec.message = message
	for line := range strings.Lines(header) {
		line = strings.TrimSuffix(line, "\n")
		if m := person.FindStringSubmatch(line); m != nil && rec.author.date == "" {
			rec.author = author{m[1], m[2], m[3]}
		}
		if name, ok := strings.CutPrefix(line, "encoding "); ok && !strings.ContainsRune(name, 0) {
			rec.encoding = name
		}
	}
	return rec
}
