// Package auth tells who calls: it checks API keys and access tokens, and says what
// role their owner has in which project.
//
//	request ── X-Api-Token: bossman_<id>_<secret>, or Authorization: Bearer …
//	   │
//	   ▼
//	Request ──► remembered? ── yes: compare, no query
//	               │ no
//	               ├─ a key:   the store, by its id; then compare
//	               └─ a token: the issuer's signature and the claims; is its owner disabled?
//	               ▼
//	           Principal: who, for whom, which roles, until when
//	               ▲
//	Run ───────────┘ every second: what was revoked, disabled, has expired?
//	                 Its Revoked is closed, on every replica within five seconds.
//
// Of a key the store has only a hash. Whatever is wrong with a key, the answer is the
// same, [ErrUnauthenticated]. If the store cannot be reached for five seconds nobody
// knows what was revoked, and everything is [ErrUnavailable].
//
// The package imports nothing of ours. [Store] says what a database does for it.
package auth
