// Package auth authenticates callers: it checks API keys and access tokens, and returns the
// roles of their owners in each project.
//
//	request ── X-Api-Token: bossman_<id>_<secret>, or Authorization: Bearer …
//	   │
//	   ▼
//	Request ──► cached? ── yes: compare, no query
//	               │ no
//	               ├─ a key:   read it from the store by its id, then compare; after many
//	               │           failures, together with others in one query
//	               └─ a token: verify the signature and the claims; is its owner disabled?
//	               ▼
//	           Principal: the caller, its owner, its roles, when it expires
//	               ▲
//	Run ───────────┘ every second: what was revoked or disabled, what has expired?
//	                 Principal.Revoked is closed, on every replica within five seconds.
//
// The store has only a hash of a key. Whatever is wrong with a key, the error is the same,
// [ErrUnauthenticated]. If the store cannot be reached for five seconds, revocations are
// unknown, and every check returns [ErrUnavailable].
//
// The package imports none of our packages. [Store] is what it needs from a database.
package auth
