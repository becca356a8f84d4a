package trace

import "strings"

const (
	// maxText bounds one text: a path, a reason, an error. Clients choose some of them.
	maxText = 4096
	// reserveBytes is the memory that a running journey reserves at a time.
	reserveBytes = 4 << 10
	// cutText stands for a text for which there is no room.
	cutText = "(cut off)"

	// The counted size of a journey, a step and an entry, without their texts.
	journeyBytes = 1024
	stepBytes    = 2*entryBytes + 32 // that it began and ended, and the Step
	whyBytes     = entryBytes
	numberBytes  = entryBytes
	textBytes    = 2 * entryBytes
	entryBytes   = 40 // of a log
	spanBytes    = 96
)

// clip bounds a text. It copies, so that the rest can be freed.
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
		&q.ContentType, &q.User, &q.ImpersonatedUser, &q.UserAgent, &q.AuditID,
	} {
		*text = clip(*text)
	}
}

// room counts n more bytes. It returns false if the journey has ended, if it is full, or if running journeys together
// are: the caller then adds nothing. The caller is the writer of the log.
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

// reserve reserves bytes of what all running journeys may take together, which is half of the limit: the rest is for
// ended ones. The caller is the writer of the log.
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
