package push

import "errors"

var (
	// ErrLink means that a link is not one of this server, or not for what it is used for.
	ErrLink = errors.New("push: the link is not valid")
	// ErrExpired means that the time of a link is over.
	ErrExpired = errors.New("push: the link has expired")
	// ErrChanged means that a question is not the one any more that a link was made for.
	ErrChanged = errors.New("push: the question has changed")

	// errGone means that the receiver wants no more requests.
	errGone = errors.New("the receiver is gone")
	// errOwner means that nobody is responsible for a webhook who may administer its project.
	errOwner = errors.New("its owner may not administer it")
	// errMoot means that there is nothing to send any more.
	errMoot = errors.New("nothing to send")
)
