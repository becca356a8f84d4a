package trace

import "strings"

const (
	// maxText is how much is kept of one text: a path, a reason, an error. Clients choose some of them.
	maxText = 4096
	// reserveBytes is what a running journey reserves at a time.
	reserveBytes = 4 << 10
	// cutText stands for a text for which there is no room.
	cutText = "(cut off)"

	// What a journey, a step and what it is told are counted as, beside their text.
	journeyBytes = 1024
	stepBytes    = 2*entryBytes + 32 // that it began and ended, and the Step
	whyBytes     = entryBytes
	numberBytes  = entryBytes
	textBytes    = 2 * entryBytes
	entryBytes   = 32 // of a log
)

// clip bounds a text. What is cut off is not kept alive by what is left.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// clip bounds the texts that a client chooses.
func (q *Request) clip() {
	for _, text := range []*string{
		&q.Method, &q.URI, &q.Verb, &q.Group, &q.Version, &q.Resource, &q.Subresource, &q.Namespace, &q.Name,
		&q.ContentType, &q.User, &q.UserAgent, &q.AuditID,
	} {
		*text = clip(*text)
	}
}

// room counts n bytes more, unless the journey is full, or all that run together are: then what was to be added is cut.
// Nothing is added to a journey that has ended. The caller is who writes to the log.
func (j *Journey) room(n int) bool {
	if j.finished {
		return false
	}
	if j.bytes+n > j.rec.limits.JourneyBytes || !j.reserve(j.bytes+n) {
		j.cut.Add(1)
		return false
	}
	j.bytes += n
	return true
}

// reserve makes sure that the journey has reserved so many bytes of what all that run may take together: half, so that
// there is room for a history. The caller is who writes to the log.
func (j *Journey) reserve(bytes int) bool {
	if bytes <= j.reserved {
		return true
	}
	more := int64(max(bytes-j.reserved, reserveBytes))
	if j.rec.running.Add(more) > int64(j.rec.limits.Bytes/2) {
		j.rec.running.Add(-more)
		return false
	}
	j.reserved += int(more)
	return true
}
