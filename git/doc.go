// Package git is everything that Bossman does with git, and the only package that runs
// it.
//
// A repository can be hostile: its configuration and attributes name programs that
// git runs (filters, hooks, a file-system monitor, a pager). Therefore the package
// reads where the work is (the branch, HEAD, other refs) from files, and runs git only
// for what cannot be read so. When it does, it names the repository itself instead of
// letting git search for one, ignores GIT_* variables of its caller, and turns off
// hooks, the file-system monitor, prompts and the fetching of missing objects.
//
// The files of a repository can change while git runs. Therefore one git reads the configuration, and all
// others get what that one has read, without the programs that the repository names (frozen.go).
//
// A worktree and its git directory have to name each other; Repo.Foreign says where they do
// not. A bare repository inside a worktree is content.
//
// What changes a repository goes through Repo.write, which refuses symbolic links where git would write
// through them.
//
// Only Snapshot runs clean filters, because it reads the files of a worktree as a commit
// would: those of the user, and of the repository's own those that its caller accepts.
// Candidate decides in the same way about merge drivers, and about what signs a commit.
//
// Advance moves a branch and, where it is checked out, the files of a user's worktree. Before it
// changes anything, it notes in a journal what it will do (journal.go), takes git's locks of the index
// and of HEAD, and finds out that no change of the user is in the way (twoway.go). Recover completes
// what was cut off (complete.go).
//
// Only Push, Unpush, FetchBranch, FetchRef, RemoteStates and Apart connect to other repositories. They run the user's own
// credential helpers, and pushes the hook pre-push; what the repository itself brings for that
// has to be accepted, and so has a repository on this machine, whose hooks would run (address.go). git
// is given the address that was accepted, and reads no other one.
package git
