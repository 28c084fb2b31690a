// Package push tells people's devices and other programs what happens on the board.
//
//	                the board's feed, and questions without a task
//	                                 │
//	Target ── cursor ──► FanOut: one transaction of one replica
//	  │                    │  who may see it? who wants it?
//	  │                    ▼
//	  │              Delivery (id, event, tries, next try) ◄── again, with the same id
//	  │                    │                                          │
//	  │                    ▼                                          │
//	  └──────────────► Claim: leased to one replica ──► send ── fails ┤
//	                                                      │           ▼
//	             webhook   signed, Standard Webhooks 1.0 ◄┤      dead letter
//	             browser   encrypted, Web Push           ◄┤
//	             ntfy      a message of a topic          ◄┘
//
//	a message with a question ── one tap ──► Links.Open ──► answered as that person
//
// A [Target] is where notifications go: a webhook belongs to a project, a browser or an ntfy
// topic to a person. Each replica runs a [Sender]. One replica at a time turns events into
// deliveries and moves the targets' cursors in the same transaction, so that no event is
// lost or sent for twice. Every replica then claims deliveries that are due. A delivery whose
// replica died is claimed by another when the lease has expired, so a receiver may get it
// twice, with the same id: delivery is at least once.
//
// A person's rights are looked up when a delivery is made, when it is sent, and when a link is
// used: those of the key with which the person has signed in. A webhook has an owner, the administrator
// who added or enabled it, and is disabled when that person may not administer its project any more, with whichever
// key. Task text is sent only to
// targets that ask for it.
//
// [Links] sign the addresses that answer a question with one tap. A link is for one person,
// one answer and one version of a question, and expires. It works once, because a question
// takes one answer.
package push
