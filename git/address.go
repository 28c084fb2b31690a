package git

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/internal/visible"
)

// addresses returns where a remote repository is fetched from, and where pushes to it go, by one look at the
// configuration. There is no fetch if there is no such remote. git is given what this returns, and rewrites it no more.
func (f *frozen) addresses(remote string) (fetch string, push []string) {
	var urls, pushes, instead []string
	for _, l := range f.lines {
		list := &urls
		switch l.key {
		case "remote." + remote + ".url":
		case "remote." + remote + ".pushurl":
			list = &pushes
		default:
			continue
		}
		*list = append(*list, l.value)
		if l.value == "" { // newer versions of git begin anew there
			*list = nil
		}
	}
	if len(urls) == 0 {
		return "", nil
	}
	for _, url := range urls {
		if to, ok := f.rewritten(url, ".pushinsteadof"); ok {
			instead = append(instead, to)
		}
	}
	for _, list := range [][]string{urls, pushes} {
		for i, url := range list {
			list[i], _ = f.rewritten(url, ".insteadof")
		}
	}
	switch {
	case len(pushes) > 0:
		push = pushes
	case len(instead) > 0:
		push = instead
	default:
		push = urls
	}
	return urls[0], push
}

// rewritten returns an address as the settings url.TO.insteadOf or pushInsteadOf have it, and whether one of them
// fits. As git does, it takes all settings with one TO together, where the first of them is. The longest value that the
// address begins with wins, which may be empty, and the first one of these.
func (f *frozen) rewritten(url, setting string) (string, bool) {
	var bases []string
	values := map[string][]string{}
	for _, l := range f.lines {
		base, ok := strings.CutSuffix(strings.TrimPrefix(l.key, "url."), setting)
		if !ok || !strings.HasPrefix(l.key, "url.") || l.empty { // git ends with an error if there is no value
			continue
		}
		if _, found := values[base]; !found {
			bases = append(bases, base)
		}
		values[base] = append(values[base], l.value)
	}
	from, to, found := "", "", false
	for _, base := range bases {
		for _, value := range values[base] {
			if strings.HasPrefix(url, value) && (!found || len(value) > len(from)) {
				from, to, found = value, base, true
			}
		}
	}
	return to + url[len(from):], found
}

// remotes lists the names of the remote repositories.
func (f *frozen) remotes() []string {
	names := map[string]bool{}
	for _, l := range f.lines {
		if name, ok := strings.CutSuffix(l.key, ".url"); ok && strings.HasPrefix(name, "remote.") {
			names[strings.TrimPrefix(name, "remote.")] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// local lists the addresses of a remote repository that are not reached over the network, as RemoteCommands has them:
// what is configured there, and its hooks, run as the user.
func (f *frozen) local(remote string) (texts []string) {
	fetch, push := f.addresses(remote)
	if fetch != "" && placeOf(fetch) == here {
		texts = append(texts, filterText("remote."+remote+".url", fetch))
	}
	for _, url := range push {
		if url != fetch && placeOf(url) == here {
			texts = append(texts, filterText("remote."+remote+".pushurl", url))
		}
	}
	return texts
}

// A place is where the repository of an address is.
type place string

const (
	atServer place = "server" // git reaches it over the network
	here     place = "here"   // it is a path of this machine, in whatever spelling
	nowhere  place = ""       // a program would have to reach it, and none is allowed to
)

// placeOf returns the place of an address, as git reads it.
func placeOf(url string) place {
	for _, scheme := range []string{"https", "http", "ssh", "git", "git+ssh", "ssh+git"} {
		if strings.HasPrefix(url, scheme+"://") {
			return atServer
		}
	}
	host, path, ok := strings.Cut(url, ":")
	switch {
	case strings.HasPrefix(url, "file://") || !ok || strings.Contains(host, "/") || filepath.VolumeName(url) != "":
		return here
	case strings.HasPrefix(path, "//") || strings.HasPrefix(path, ":") && !strings.HasPrefix(host, "["):
		return nowhere
	}
	return atServer // host:path, or [::1]:path
}

// only returns the configuration with these addresses of a remote repository and no others, which git uses as they
// are.
func (r *Repo) only(f *frozen, remote string, urls []string) (*frozen, error) {
	f = new(*f)
	again := slices.ContainsFunc(urls, func(url string) bool {
		_, fetch := f.rewritten(url, ".insteadof")
		_, push := f.rewritten(url, ".pushinsteadof")
		return fetch || push
	})
	of := "remote." + remote + "."
	f.lines = slices.DeleteFunc(slices.Clone(f.lines), func(l line) bool {
		return l.key == of+"url" || l.key == of+"pushurl" || strings.HasPrefix(l.key, "remotes.") || again && strings.HasPrefix(l.key, "url.")
	})
	for _, url := range urls {
		f.lines = append(f.lines, line{setting: setting{of + "url", url}, own: true})
	}
	var err error
	f.view, err = r.makeView(f)
	return f, err
}

// Apart returns a *RemoteError of kind RemoteElsewhere if pushes to a remote repository go to another address than the one it is
// fetched from, and a branch there has something that is not where it is fetched from. What runs is as for FetchBranch.
func (r *Repo) Apart(ctx context.Context, remote, branch string, accept func(command string) bool) error {
	c, err := r.contact(ctx, remote, fetching, accept)
	if err != nil || !c.elsewhere() {
		return err
	}
	pushed, err := r.fetch(ctx, remote, lookingBack, accept, "refs/heads/"+branch) // first: the other one has it then, if they are the same
	if err != nil || pushed == "" {
		return err
	}
	fetched, err := r.FetchBranch(ctx, remote, branch, accept)
	if err == nil && fetched != "" {
		var in bool
		if in, err = r.Contains(ctx, fetched, pushed); in {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return &RemoteError{Remote: remote, Kind: RemoteElsewhere, Words: words(fmt.Sprintf("pushes go to %.120s, and fetches come from %.120s, where branch %.80s does not have commit %s", c.push[0], c.from, branch, Short(pushed)))}
}

// checkPaths returns an error if one of the addresses of a remote repository is nowhere, or a directory of this machine whose hooks an
// agent may have written, or that came with the repository, or that is another user's: these run at a push.
func (r *Repo) checkPaths(ctx context.Context, remote string, urls []string) error {
	for _, url := range urls {
		switch placeOf(url) {
		case nowhere:
			return &RemoteError{Remote: remote, Kind: RemoteUnreachable, Words: words(fmt.Sprintf("the transport of %.200q is not allowed", url))}
		case atServer:
			continue
		case here:
		}
		path := pathOf(url)
		if !filepath.IsAbs(path) {
			path = r.Root + string(filepath.Separator) + path // as git reads it, also after a link
		}
		for _, end := range []string{"", "/.git", ".git", ".git/.git"} { // where git looks for it
			if err := r.checkPath(ctx, remote, path+end); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Repo) checkPath(ctx context.Context, remote, path string) error {
	for range maxIncludes {
		if r.reachable(path+"/HEAD") || passes(path, []string{"/proc"}, nil) {
			return fmt.Errorf("remote %.80q is %q, in the repository itself, in a worktree, among temporary files or in /proc, where an agent could change what a push runs: nothing is pushed or fetched; move it elsewhere", remote, path)
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil
		}
		if ofOthers(info) && !slices.Contains(SafeDirectories(ctx), filepath.Clean(path)) {
			return fmt.Errorf("remote %.80q is %q, which belongs to another user, whose hooks a push would run: nothing is pushed or fetched; if you trust them, run: git config --global --add safe.directory %s", remote, path, visible.ShellWord(filepath.Clean(path)))
		}
		text, err := readSmall(path)
		to, ok := strings.CutPrefix(text, "gitdir:")
		if err != nil || !ok {
			return nil
		}
		path = resolve(filepath.Dir(path), strings.TrimSpace(to))
	}
	return fmt.Errorf("remote %.80q is %q, which names one file after the other: nothing is pushed or fetched", remote, path)
}

// pathOf returns the path that an address of this machine names, as git reads it.
func pathOf(url string) string {
	path, ok := strings.CutPrefix(url, "file://")
	if !ok {
		return url
	}
	path = decoded(path)
	if !strings.HasPrefix(path, "/") && filepath.VolumeName(path) == "" {
		path = "//" + path
	}
	return path
}

// decoded returns a part of a URL without %XX, as git does: what is no such number stays as it is.
func decoded(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if i+2 < len(text) && text[i] == '%' {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil && n > 0 {
				out.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
