package boardtext

// Lands says where a project, %s, lands its work from now on.
func Lands(target string) string {
	if target == "" {
		return "%s does not land its work any more: what is accepted is done."
	}
	return "What is accepted in %s now waits to be landed on " + word(target) + ", and is done then."
}
