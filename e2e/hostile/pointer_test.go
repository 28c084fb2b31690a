package hostile

import (
	"os"
	"path/filepath"
)

// replaced is a worktree whose .git an agent has replaced, so that it leads to another repository,
// which names the worktree and has a board and filters of its own.
func replaced(name string, at func(p *place) string) hostile {
	return hostile{name, func(p *place) {
		p.clone()
		tree := p.dir + ".worktrees/one"
		p.gitRun(p.dir, "worktree", "add", "-q", "--detach", tree)
		p.dir = tree
		p.more = []string{done, "task list"}
		p.ownCheck()
		evil := at(p)
		p.write(p.git(), "gitdir: "+evil+"\n")
		p.must(os.RemoveAll(evil))
		p.must(os.CopyFS(evil, os.DirFS(filepath.Join(p.victim(), ".git"))))
		p.gitRun(evil, "config", "core.worktree", tree)
		p.add(filepath.Join(evil, "config"), p.filter("clean"))
		p.write(filepath.Join(tree, ".gitattributes"), "* filter=evil\n")
		p.write(filepath.Join(tree, "a.txt"), "b\n")
		p.control = []string{"git", "add", "a.txt"}
	}}
}

// pointers lead to another repository.
var pointers = []hostile{
	{"git-file", func(p *place) {
		p.write(filepath.Join(p.dir, ".git"), "gitdir: "+filepath.Join(p.victim(), ".git")+"\n")
	}},
	{"git-file-relative", func(p *place) { p.write(filepath.Join(p.dir, ".git"), "gitdir: ../../outside/victim/.git\n") }},
	{"git-file-to-a-bare-one-below", func(p *place) {
		p.must(os.CopyFS(filepath.Join(p.dir, "web", ".bare"), os.DirFS(filepath.Join(p.victim(), ".git"))))
		p.gitRun(filepath.Join(p.dir, "web", ".bare"), "config", "core.bare", "true")
		p.write(filepath.Join(p.dir, ".git"), "gitdir: web/.bare\n")
	}},
	{"git-file-to-a-bare-one", func(p *place) {
		p.must(os.CopyFS(filepath.Join(p.dir, "web.git"), os.DirFS(filepath.Join(p.victim(), ".git"))))
		p.gitRun(filepath.Join(p.dir, "web.git"), "config", "core.bare", "true")
		p.write(filepath.Join(p.dir, ".git"), "gitdir: web.git\n")
	}},
	{"git-link", func(p *place) {
		p.mkdir(p.dir)
		p.must(os.Symlink(filepath.Join(p.victim(), ".git"), filepath.Join(p.dir, ".git")))
	}},
	{"git-pipe", func(p *place) { p.put("pipe", filepath.Join(p.dir, ".git")) }},
	{"git-huge", func(p *place) { p.put("huge", filepath.Join(p.dir, ".git")) }},
	{"git-device", func(p *place) { p.put("link-to-device", filepath.Join(p.dir, ".git")) }},
	{"commondir", func(p *place) {
		p.clone()
		p.write(p.git("commondir"), filepath.Join(p.victim(), ".git")+"\n")
	}},
	{"worktrees-file", func(p *place) {
		p.clone()
		p.write(p.git("worktrees", "x", "gitdir"), filepath.Join(p.victim(), ".git")+"\n")
		p.write(p.git("worktrees", "x", "HEAD"), "ref: refs/heads/main\n")
		p.write(p.git("worktrees", "x", "commondir"), filepath.Join(p.victim(), ".git")+"\n")
	}},
	{"worktrees-of-others", func(p *place) {
		p.write(filepath.Join(p.dir, ".git"), "gitdir: "+filepath.Join(p.victim(), ".git", "worktrees", "x")+"\n")
	}},
	{"worktree-with-link", func(p *place) {
		// Both halves are in the archive, and the one in the git directory has a link.
		p.clone()
		tree, dir := filepath.Join(p.dir, "tree"), p.git("worktrees", "tree")
		p.write(filepath.Join(tree, ".git"), "gitdir: "+dir+"\n")
		p.write(filepath.Join(tree, "a.txt"), "a\n")
		p.write(filepath.Join(dir, "gitdir"), filepath.Join(tree, ".git")+"\n")
		p.write(filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
		p.write(filepath.Join(dir, "commondir"), "../..\n")
		p.must(os.Symlink(p.outside(), filepath.Join(dir, "bossman")))
		p.dir = tree
	}},
	replaced("worktree-to-inside", func(p *place) string { return filepath.Join(p.dir, ".evil") }),
	replaced("worktree-to-temporary", func(p *place) string {
		p.env = append(p.env, "TMPDIR="+filepath.Join(p.base, "tmp"))
		return filepath.Join(p.base, "tmp", "evil")
	}),
	replaced("worktree-to-its-own", func(p *place) string { return p.git() }),
	{"link-of-the-archive", func(p *place) {
		p.clone()
		p.write(p.git("bossman", "link"), filepath.Join(p.victim(), ".git")+"\n")
	}},
	{"alternates", func(p *place) {
		p.clone()
		p.write(p.git("objects", "info", "alternates"), filepath.Join(p.victim(), ".git", "objects")+"\n")
	}},
	{"refs-link", func(p *place) {
		p.clone()
		p.must(os.RemoveAll(p.git("refs")))
		p.must(os.Symlink("/", p.git("refs")))
	}},
	{"head-loop", func(p *place) {
		p.clone()
		p.write(p.git("HEAD"), "ref: refs/heads/a\n")
		p.write(p.git("refs", "heads", "a"), "ref: refs/heads/b\n")
		p.write(p.git("refs", "heads", "b"), "ref: refs/heads/a\n")
	}},
	{"head-link-to-digits", func(p *place) {
		p.clone()
		p.write(filepath.Join(p.outside(), "digits"), secretDigits)
		p.must(os.Remove(p.git("HEAD")))
		p.must(os.Symlink(filepath.Join(p.outside(), "digits"), p.git("HEAD")))
		p.more = []string{"next --wait 0", done}
	}},
	{"branch-link-to-digits", func(p *place) {
		p.clone()
		p.write(filepath.Join(p.outside(), "digits"), secretDigits)
		p.must(os.Remove(p.git("refs", "heads", "main")))
		p.must(os.Symlink(filepath.Join(p.outside(), "digits"), p.git("refs", "heads", "main")))
		p.more = []string{"next --wait 0", done, "task show clone-1"}
	}},
	{"head-outside", func(p *place) {
		p.clone()
		p.write(p.git("HEAD"), "ref: refs/heads/../../../../../outside/precious\n")
	}},
}
