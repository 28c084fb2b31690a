// Package land brings accepted work to the branch that it is for, and never turns that branch red.
//
//	queue ──► chain of candidates ──► check of the last one ──► intent ──► the target moves ──► done
//	              │ conflict               │ red: search in the chain
//	              └──────► back to its task ◄────────┘
//
// One process at a time has the landing lease of a target. It merges what is queued on top of the
// target, one after the other, without a checkout, and checks the last commit of that chain in a
// worktree of its own. If that is red, it looks for the longest beginning of the chain that is green:
// this lands, and the work after it goes back to its task. Before anybody is blamed, the target itself
// is checked. Work that the check cannot judge, such as one that breaks the project's setup, is found in the
// same way: it waits for a person, and other work goes past it. If the target itself cannot be judged, nothing lands.
//
// What moves the target is written on the board first, as an intent: from which commit to which, with
// whose work. Only work that waits to land, in its newest attempt and with the commit that was reported,
// can be in one. A lander that dies between the intent and its end leaves it open, and the next one looks
// where the target is.
package land
