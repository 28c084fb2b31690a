package hostile

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// programs is a configuration in which every setting that names a program names the canary.
func (p *place) programs() string {
	c := p.canary()
	return fmt.Sprintf(`
[core]
	fsmonitor = %[1]s fsmonitor
	pager = %[1]s pager
	editor = %[1]s editor
	sshCommand = %[1]s ssh
	askPass = %[1]s
	gitProxy = %[1]s
	alternateRefsCommand = %[1]s alternate
[pager]
	status = %[1]s pager
	config = %[1]s pager
	show = %[1]s pager
	diff-tree = %[1]s pager
[alias]
	status = !%[1]s alias
	zz = !%[1]s alias
	rev-parse = !%[1]s alias
[sequence]
	editor = %[1]s sequence
[gpg]
	program = %[1]s
	format = openpgp
[gpg "ssh"]
	program = %[1]s
	defaultKeyCommand = %[1]s
[gpg "x509"]
	program = %[1]s
[log]
	showSignature = true
[commit]
	gpgSign = true
[diff]
	external = %[1]s diff
[diff "evil"]
	command = %[1]s diff
	textconv = %[1]s textconv
	cachetextconv = true
[merge "evil"]
	driver = %[1]s merge
[credential]
	helper = !%[1]s credential
[interactive]
	diffFilter = %[1]s filter
[uploadpack]
	packObjectsHook = %[1]s
[trace2]
	eventTarget = %[2]s/created
	normalTarget = %[2]s/created
	perfTarget = %[2]s/created
[filter "evil"]
	clean = %[1]s clean
	smudge = %[1]s smudge
	required = true
[remote "origin"]
	url = ext::%[1]s remote
	uploadpack = %[1]s
	promisor = true
	partialclonefilter = blob:none
[extensions]
	partialClone = origin
[protocol "ext"]
	allow = always
[status]
	submoduleSummary = true
[submodule]
	recurse = true
`, c, p.outside())
}

// filter is a configuration with one filter.
func (p *place) filter(kind string) string {
	return fmt.Sprintf("[filter \"evil\"]\n\t%s = %s %[1]s\n\trequired = true\n", kind, p.canary())
}

// hooks fills a directory with hooks of every name.
func (p *place) hooks(dir string) {
	for _, name := range []string{"post-index-change", "fsmonitor-watchman", "pre-commit", "post-checkout", "reference-transaction", "pre-auto-gc", "post-commit", "proc-receive", "query-watchman"} {
		p.write(filepath.Join(dir, name), "#!/bin/sh\nexec "+p.canary()+" hook\n")
		p.must(os.Chmod(filepath.Join(dir, name), 0o755))
	}
}

var byStatus = []string{"git", "status"}

// configured is a place whose repository has more configuration.
func configured(name string, control []string, text func(p *place) string) hostile {
	return hostile{name, func(p *place) {
		p.clone()
		p.more = []string{done}
		p.ownCheck()
		p.add(p.git("config"), text(p))
		p.write(filepath.Join(p.dir, "a.txt"), "b\n") // of the same size: git has to read it
		p.control = control
	}}
}

// repositories run programs of their own choice, if git is asked.
var repositories = []hostile{
	{"plain", func(p *place) { p.clone() }},
	{"nothing", func(p *place) { p.mkdir(p.dir) }},
	configured("programs", byStatus, (*place).programs),
	configured("clean-filter", byStatus, func(p *place) string { return p.filter("clean") }),
	configured("process-filter", byStatus, func(p *place) string { return p.filter("process") }),
	configured("smudge-filter", []string{"git", "checkout", "-f", "."}, func(p *place) string { return p.filter("smudge") }),
	configured("fsmonitor", byStatus, func(p *place) string { return "[core]\n\tfsmonitor = " + p.canary() + "\n" }),
	configured("alias", []string{"git", "zz"}, func(p *place) string { return "[alias]\n\tzz = !" + p.canary() + "\n\tstatus = !" + p.canary() + "\n" }),
	configured("external-diff", []string{"git", "diff"}, func(p *place) string { return "[diff]\n\texternal = " + p.canary() + "\n" }),
	configured("textconv", []string{"git", "diff"}, func(p *place) string { return "[diff \"evil\"]\n\ttextconv = " + p.canary() + "\n" }),
	configured("include", byStatus, func(p *place) string {
		p.write(filepath.Join(p.dir, "more"), p.filter("clean"))
		return "[include]\n\tpath = ../more\n"
	}),
	configured("include-below-git", byStatus, func(p *place) string {
		p.write(p.git("more"), p.filter("clean"))
		return "[include]\n\tpath = more\n"
	}),
	configured("include-if-directory", byStatus, func(p *place) string {
		p.write(p.git("more"), p.filter("clean"))
		return "[includeIf \"gitdir:**/.git\"]\n\tpath = more\n"
	}),
	configured("include-if-branch", byStatus, func(p *place) string {
		p.write(p.git("more"), p.filter("clean"))
		return "[includeIf \"onbranch:main\"]\n\tpath = more\n"
	}),
	configured("include-if-remote", byStatus, func(p *place) string {
		p.write(p.git("more"), p.filter("clean"))
		return "[remote \"origin\"]\n\turl = https://example.com/x\n[includeIf \"hasconfig:remote.*.url:https://**\"]\n\tpath = more\n"
	}),
	configured("include-chain", byStatus, func(p *place) string {
		for i := range 9 {
			p.write(p.git(fmt.Sprintf("more%d", i)), fmt.Sprintf("[include]\n\tpath = more%d\n", i+1))
		}
		p.write(p.git("more9"), p.filter("clean"))
		return "[include]\n\tpath = more0\n"
	}),
	configured("include-pipe", nil, func(p *place) string {
		p.put("pipe", filepath.Join(p.dir, "more"))
		return "[include]\n\tpath = ../more\n"
	}),
	configured("include-pipe-on-one-line", nil, func(p *place) string {
		p.put("pipe", filepath.Join(p.dir, "more"))
		return "[include] path = ../more\n"
	}),
	configured("include-pipe-nested", nil, func(p *place) string {
		p.put("pipe", filepath.Join(p.dir, "pipe"))
		p.write(filepath.Join(p.dir, "more"), "[include] path = pipe\n")
		return strings.Repeat("# far down\n", 10_000) + "[include]\n\tpath = ../more\n"
	}),
	configured("include-device", nil, func(p *place) string { return "[include]\n\tpath = /dev/zero\n" }),
	configured("include-itself", nil, func(p *place) string { return "[include]\n\tpath = config\n" }),
	configured("worktree-config", byStatus, func(p *place) string {
		p.write(p.git("config.worktree"), p.filter("clean"))
		return "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n"
	}),
	configured("attributes-device", nil, func(p *place) string { return "[core]\n\tattributesFile = /dev/zero\n" }),
	configured("attributes-pipe", nil, func(p *place) string {
		p.put("pipe", filepath.Join(p.dir, "attributes"))
		return "[core]\n\tattributesFile = " + filepath.Join(p.dir, "attributes") + "\n"
	}),
	configured("excludes-device", nil, func(p *place) string { return "[core]\n\texcludesFile = /dev/zero\n" }),
	configured("excludes-pipe", nil, func(p *place) string {
		p.put("pipe", filepath.Join(p.dir, "excludes"))
		return "[core]\n\texcludesFile = " + filepath.Join(p.dir, "excludes") + "\n"
	}),
	configured("many-filters", nil, func(p *place) string {
		var b strings.Builder
		for i := range 3_000 {
			fmt.Fprintf(&b, "[filter \"evil%d\"]\n\tclean = %s\n", i, p.canary())
		}
		b.WriteString(p.filter("clean"))
		return b.String()
	}),
	configured("odd-filters", byStatus, func(p *place) string {
		p.write(filepath.Join(p.dir, ".gitattributes"), "*.txt filter=a.b=c\n")
		return "[filter \"a.b=c\"]\n\tCLEAN = " + p.canary() + "\n[filter \"a\\\"b\"]\n\tclean = " + p.canary() + "\n"
	}),
	configured("worktree-elsewhere", nil, func(p *place) string { return "[core]\n\tworktree = " + p.outside() + "\n" }),
	configured("worktree-up", nil, func(p *place) string { return "[core]\n\tworktree = ../../../outside\n" }),
	configured("bare", nil, func(p *place) string { return "[core]\n\tbare = true\n" }),
	configured("hooks-path", []string{"git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", "x"}, func(p *place) string {
		p.hooks(filepath.Join(p.dir, "hooks"))
		return "[core]\n\thooksPath = hooks\n"
	}),
	{"hooks", func(p *place) {
		p.clone()
		p.hooks(p.git("hooks"))
		p.write(filepath.Join(p.dir, "a.txt"), "b\n")
		p.control = []string{"git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", "x"}
	}},
	{"filter-of-the-user", func(p *place) {
		p.clone()
		p.write(filepath.Join(p.home(), ".gitconfig"), p.filter("clean"))
		p.write(filepath.Join(p.dir, "a.txt"), "b\n")
		p.control = byStatus
	}},
	{"info-attributes", func(p *place) {
		p.clone()
		p.write(p.git("info", "attributes"), "* filter=evil\n")
		p.add(p.git("config"), p.filter("clean"))
		p.write(filepath.Join(p.dir, "a.txt"), "b\n")
		p.control = byStatus
	}},
	{"bare-inside", func(p *place) {
		p.clone()
		p.copyBare(filepath.Join(p.dir, "docs", "x.git"), "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = tree\n\tfsmonitor = "+p.canary()+"\n"+p.filter("clean"))
		p.write(filepath.Join(p.dir, "docs", "x.git", "tree", "a.txt"), "b\n")
		p.dir = filepath.Join(p.dir, "docs", "x.git")
		p.control = byStatus
	}},
	{"bare-inside-common", func(p *place) {
		p.clone()
		p.copyBare(filepath.Join(p.dir, "docs", "x.git"), "")
		p.write(filepath.Join(p.dir, "docs", "x.git", "commondir"), filepath.Join(p.victim(), ".git"))
		p.dir = filepath.Join(p.dir, "docs", "x.git")
	}},
	{"bare-in-a-project", func(p *place) {
		p.mkdir(filepath.Join(p.dir, ".bossman"))
		p.dir = filepath.Join(p.dir, "vendor", "x")
		p.must(os.CopyFS(p.dir, os.DirFS(filepath.Join(p.victim(), ".git"))))
		p.add(filepath.Join(p.dir, "config"), p.programs())
	}},
	{"bare-alone", func(p *place) {
		p.copyBare(p.dir, "[core]\n\tbare = true\n\tfsmonitor = "+p.canary()+"\n"+p.programs())
	}},
	{"submodule", func(p *place) {
		p.clone()
		p.copy(filepath.Join(p.dir, "sub"))
		p.gitRun(p.dir, "add", "sub")
		p.gitRun(p.dir, "commit", "-q", "-m", "sub")
		p.add(filepath.Join(p.dir, "sub", ".git", "config"), p.programs())
		p.write(filepath.Join(p.dir, "sub", "a.txt"), "b\n")
		p.control = byStatus
	}},
	{"submodule-file", func(p *place) {
		p.clone()
		p.copy(filepath.Join(p.dir, "sub"))
		p.gitRun(p.dir, "add", "sub")
		p.gitRun(p.dir, "commit", "-q", "-m", "sub")
		p.must(os.RemoveAll(filepath.Join(p.dir, "sub", ".git")))
		p.write(filepath.Join(p.dir, "sub", ".git"), "gitdir: "+filepath.Join(p.victim(), ".git")+"\n")
	}},
	{"inside-submodule", func(p *place) {
		p.clone()
		p.copy(filepath.Join(p.dir, "sub"))
		p.add(filepath.Join(p.dir, "sub", ".git", "config"), p.filter("clean"))
		p.dir = filepath.Join(p.dir, "sub")
		p.write(filepath.Join(p.dir, "a.txt"), "b\n")
		p.control = byStatus
	}},
	{"missing-objects", func(p *place) {
		p.clone()
		p.add(p.git("config"), p.programs())
		p.must(os.RemoveAll(p.git("objects")))
		p.mkdir(p.git("objects"))
	}},
	{"modules-pipe-inside", func(p *place) {
		p.clone()
		p.put("pipe", filepath.Join(p.dir, ".gitmodules"))
	}},
	{"files-of-pipes", func(p *place) {
		p.clone()
		p.put("pipe", filepath.Join(p.dir, "b.txt")) // not one that a command line names: a person may name a pipe
		p.put("link-to-device", filepath.Join(p.dir, "README.md"))
	}},
	{"huge-file-inside", func(p *place) {
		p.clone()
		p.put("huge", filepath.Join(p.dir, "a.txt"))
		p.put("huge", filepath.Join(p.dir, "README.md"))
		p.put("huge", filepath.Join(p.dir, ".gitattributes"))
		p.put("huge", filepath.Join(p.dir, ".gitignore"))
	}},
	{"attributes-pipe-inside", func(p *place) {
		p.clone()
		p.put("pipe", filepath.Join(p.dir, ".gitattributes"))
	}},
	{"ignore-pipe-inside", func(p *place) {
		p.clone()
		p.put("pipe", filepath.Join(p.dir, ".gitignore"))
	}},
	{"attributes-pipe-below", func(p *place) {
		p.clone()
		p.ownCheck()
		p.more = []string{judged}
		p.put("pipe", filepath.Join(p.dir, "d", ".gitattributes"))
		p.write(filepath.Join(p.dir, "d", "new"), "new\n")
	}},
	{"objects-outside", func(p *place) {
		p.clone()
		p.ownCheck()
		p.more = []string{judged}
		for i := range 256 {
			_ = os.Symlink(p.outside(), p.git("objects", fmt.Sprintf("%02x", i)))
		}
		p.write(filepath.Join(p.dir, "new"), "new\n")
	}},
	{"marks-of-the-archive", func(p *place) {
		p.clone()
		p.more = []string{done, "inbox", "trust"}
		p.write(filepath.Join(p.dir, "evil", "bossman", "trust", "x.json"), "{}")
		p.write(filepath.Join(p.dir, "evil", "bossman", "config.toml"), "[check]\ncommand = ["+jsonOf(p.canary())+"]\n")
		p.write(p.git("bossman", "trusted"), "/proc/self/cwd/evil/bossman/trust/x.json\n")
		p.write(p.git("bossman", "user-check"), "/proc/self/cwd/evil/bossman/config.toml\n")
	}},
	{"mailmap-pipe-inside", func(p *place) {
		p.clone()
		p.more = []string{done}
		p.put("pipe", filepath.Join(p.dir, ".mailmap"))
	}},
	{"huge-commit", func(p *place) {
		p.clone()
		p.more = []string{done}
		p.hugeCommit()
		p.sparse(p.git("objects", "pack", "pack-1111111111111111111111111111111111111111.idx"), 2<<30)
	}},
	{"mcp-json", func(p *place) {
		p.clone()
		p.write(filepath.Join(p.dir, ".mcp.json"), `{"mcpServers":{"evil":{"command":`+jsonOf(p.canary())+`,"args":["`+`\u001b]0;x\u0007`+`"]}}}`)
	}},
	{"mcp-json-many", func(p *place) {
		p.clone()
		p.more = []string{"client tools --from claude evil"}
		var b strings.Builder
		for i := range 140_000 {
			fmt.Fprintf(&b, `,"%x":{"command":"x"}`, i)
		}
		p.write(filepath.Join(p.dir, ".mcp.json"), `{"mcpServers":{`+b.String()[1:]+`}}`)
	}},
}

// hugeCommit makes HEAD a commit that unpacks to more memory than a process may take.
func (p *place) hugeCommit() {
	p.t.Helper()
	const size = 300 << 20
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	p.must(err)
	sum := sha1.New()
	w := io.MultiWriter(z, sum)
	head := "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b> 4000000000 +0000\ncommitter a <a@b> 4000000000 +0000\n\n"
	fmt.Fprintf(w, "commit %d\x00%s", len(head)+size, head)
	for range size >> 20 {
		_, err := w.Write(bytes.Repeat([]byte{'x'}, 1<<20))
		p.must(err)
	}
	p.must(z.Close())
	name := hex.EncodeToString(sum.Sum(nil))
	p.write(p.git("objects", name[:2], name[2:]), packed.String())
	p.write(p.git("refs", "heads", "main"), name+"\n")
}

// copyBare makes a bare repository.
func (p *place) copyBare(dir, config string) {
	p.t.Helper()
	p.mkdir(filepath.Dir(dir))
	p.must(os.CopyFS(dir, os.DirFS(filepath.Join(template, "clone", ".git"))))
	p.must(os.RemoveAll(filepath.Join(dir, "bossman")))
	p.write(filepath.Join(dir, "config"), config)
}

// gitFiles are repositories in which something else stands in place of a file.
func gitFiles() (list []hostile) {
	for i, file := range []string{
		"HEAD", "index", "config", "config.worktree", "packed-refs", "refs/heads/main", "commondir", "info/exclude", "info/attributes", "info/sparse-checkout",
		"objects/info/alternates", "shallow", "worktrees/x/gitdir", "worktrees/x/HEAD", "sharedindex.0000", "MERGE_HEAD",
	} {
		for _, k := range things {
			if !everything && k.name != "pipe" && !(k.name == "link-to-device" && i < 8) && !(k.name == "huge" && (i < 3 || file == "refs/heads/main")) && !(k.name == "big" && file == "packed-refs") {
				continue
			}
			list = append(list, hostile{"git-" + strings.ReplaceAll(file, "/", "-") + "-" + k.name, func(p *place) {
				p.clone()
				p.put(k.name, p.git(filepath.FromSlash(file)))
				p.more = []string{done}
			}})
		}
	}
	return list
}
