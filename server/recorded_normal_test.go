package server_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// recordedTime is the time of everything that is recorded.
var recordedTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// What is another in each run, in the JSON of answers and journeys.
var (
	uidPattern     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	journeyPattern = regexp.MustCompile(`"[0-9a-f]{6}-i?\d+"`)
	microsPattern  = regexp.MustCompile(`("(?:tookMicros|caughtUpMicros)": ?)\d+`)
	rawPattern     = regexp.MustCompile(`("raw": ?)"([A-Za-z0-9+/=]+)"`)
)

// normal replaces what is another in each run by what is the same in each, so that a recording changes only where the server does.
// What was equal stays equal, and what differed goes on to differ.
type normal struct {
	uids, journeys map[string]string
	recorded       map[string]string // names of the journeys that are recorded, by those on the server
}

func newNormal() *normal {
	return &normal{map[string]string{}, map[string]string{}, map[string]string{}}
}

// text replaces UIDs, times and names of journeys. The n-th of each that is met gets the number n.
func (n *normal) text(data []byte) []byte {
	data = rawPattern.ReplaceAllFunc(data, func(found []byte) []byte {
		parts := rawPattern.FindSubmatch(found)
		return fmt.Appendf(nil, "%s%q", parts[1], n.stored(string(parts[2])))
	})
	data = uidPattern.ReplaceAllFunc(data, n.uid)
	data = timePattern.ReplaceAllFunc(data, func(found []byte) []byte {
		if bytes.HasPrefix(found, []byte(recordedTime.Format(time.DateOnly))) { // it was set on purpose
			return found
		}
		if bytes.Contains(found, []byte(".")) {
			return []byte(recordedTime.Format(metav1.RFC3339Micro))
		}
		return []byte(recordedTime.Format(time.RFC3339))
	})
	return journeyPattern.ReplaceAllFunc(data, func(found []byte) []byte {
		if name := n.recorded[strings.Trim(string(found), `"`)]; name != "" {
			return []byte(strconv.Quote(name))
		}
		return nth(n.journeys, found, func(k int) string { return fmt.Sprintf(`"0000aa-%d"`, k) })
	})
}

func (n *normal) uid(found []byte) []byte {
	return nth(n.uids, found, func(k int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", k) })
}

// nth is what a name is replaced by.
func nth(by map[string]string, found []byte, name func(k int) string) []byte {
	if by[string(found)] == "" {
		by[string(found)] = name(len(by) + 1)
	}
	return []byte(by[string(found)])
}

// stored replaces what a value that etcd has, in base64, holds of one run: the UIDs and times of an object in Protobuf, or all that is
// encrypted. It stays as long as it is.
func (n *normal) stored(text string) string {
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	if rest, ok := bytes.CutPrefix(value, []byte("k8s:enc:secretbox:v1:key1:")); ok {
		for i := range rest {
			rest[i] = byte(i * 7)
		}
		return base64.StdEncoding.EncodeToString(value)
	}
	value = uidPattern.ReplaceAllFunc(value, n.uid)
	then := binary.AppendUvarint([]byte{0x08}, uint64(recordedTime.Unix()))
	for at := time.Now().Unix() - 600; at <= time.Now().Unix(); at++ {
		value = bytes.ReplaceAll(value, binary.AppendUvarint([]byte{0x08}, uint64(at)), then)
	}
	return base64.StdEncoding.EncodeToString(value)
}

// answers replaces durations too: those of journeys are made up by journey.
func (n *normal) answers(data []byte) []byte {
	return n.text(microsPattern.ReplaceAll(data, []byte("${1}100")))
}

// pace is how long a step took by itself, in a recording: more where etcd was asked.
func pace(id string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(id))
	own := time.Duration(2000 + h.Sum32()%30_000)
	if strings.HasPrefix(id, "etcd.") {
		own += 400 * time.Microsecond
	}
	return own
}

// heldFor is for how long a request was held, in a recording.
const heldFor = 5 * time.Millisecond

var heldText = regexp.MustCompile(`for [^ :]+:`)

// journey has all of a journey be what it is in each run but what text replaces: each step takes its pace after the one before, the
// event of a write goes to the watchers in the order of their numbers, and lines of the code are those of lines, if it has the step.
func (n *normal) journey(j *v1alpha1.Journey, begun time.Time, lines map[string]int32) {
	s := &j.Status
	j.UID, j.ResourceVersion, s.Started = "", "", metav1.NewMicroTime(begun)
	clock := time.Duration(0)
	began := make([]time.Duration, len(s.Steps))
	ended := make([]time.Duration, len(s.Steps))
	for i := range s.Steps {
		step := &s.Steps[i]
		began[i] = clock
		clock += pace(step.ID)
		for k := range s.Interventions {
			clock += n.intervention(&s.Interventions[k], int32(i), clock)
		}
		for at := i; at >= 0; at = int(s.Steps[at].Parent) {
			ended[at] = clock
		}
		step.StartMicros = began[i].Microseconds()
		step.Line = cmp.Or(lines[step.ID+step.Function+step.File], step.Line)
		lasting(step)
	}
	for i := range s.Steps {
		if s.Steps[i].TookNanos >= 0 {
			s.Steps[i].TookNanos = (ended[i] - began[i]).Nanoseconds()
		}
	}
	if s.TookMicros > 0 {
		s.TookMicros = clock.Microseconds() + 20
	}
	if s.HeldMicros > 0 {
		s.HeldMicros = heldFor.Microseconds()
	}
	after := s.TookMicros
	later := func() int64 { after += 15; return after }
	for i := range s.Marks {
		m := &s.Marks[i]
		m.AfterMicros = later()
		m.Line = cmp.Or(lines[m.ID+m.Function+m.File], m.Line)
	}
	slices.SortFunc(s.Deliveries, func(a, b v1alpha1.Delivery) int { return numberOf(a.Watcher) - numberOf(b.Watcher) })
	for i := range s.Deliveries {
		s.Deliveries[i].AfterMicros = later()
	}
	for i := range s.Effects {
		s.Effects[i].AfterMicros = int64(100 * (i + 1))
	}
}

// intervention has one at a step that began at some time take as long as in each recording, and returns how long that is.
func (n *normal) intervention(v *v1alpha1.Intervention, step int32, at time.Duration) time.Duration {
	if v.Step != step {
		return 0
	}
	v.StartMicros = at.Microseconds()
	if v.TookMicros == 0 {
		return 0
	}
	v.TookMicros = heldFor.Microseconds()
	v.Message = heldText.ReplaceAllString(v.Message, "for "+heldFor.String()+":")
	return heldFor
}

// lasting replaces the numbers of one run that a step has: how long a reason says that something took, and at which revision the server
// wrote the namespace default when it began, which it does beside other writes.
func lasting(step *v1alpha1.Step) {
	replace := func(v *v1alpha1.Attribute, by string) {
		step.Why, v.Value = strings.Replace(step.Why, v.Value, by, 1), by
	}
	initial := strings.HasSuffix(step.Subject, "/namespaces/default")
	for i := range step.Attributes {
		if v := &step.Attributes[i]; initial && (v.Name == "revision" || v.Name == "modRevision") {
			v.Value = "3"
		}
	}
	if step.Reason == nil {
		return
	}
	for i := range step.Reason.Values {
		switch v := &step.Reason.Values[i]; {
		case v.Name == "micros":
			replace(v, "200")
		case v.Name == "revision" && initial:
			replace(v, "3")
		}
	}
}

// numberOf is the number in the name of a journey.
func numberOf(name string) int {
	n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return n
}

// linesOf are where the recorded steps are in the code, by step, function and file. They stay as they were recorded: a line that moved
// because a comment above it grew is no change of what the server does, and the tests of the screen have the code of then.
func linesOf(journeys []v1alpha1.Journey) map[string]int32 {
	lines := map[string]int32{}
	for _, j := range journeys {
		for _, s := range j.Status.Steps {
			lines[s.ID+s.Function+s.File] = s.Line
		}
		for _, m := range j.Status.Marks {
			lines[m.ID+m.Function+m.File] = m.Line
		}
	}
	return lines
}

// recordingOf is a list of journeys as JSON with a line for each step, and one for each object before or after it, so that a diff shows the
// steps that changed.
func recordingOf(t *testing.T, journeys []*v1alpha1.Journey) []byte {
	t.Helper()
	compact := func(v any) []byte {
		data, err := json.Marshal(v)
		must(t, err)
		return data
	}
	var b bytes.Buffer
	b.WriteString(`{"metadata":{},"items":[`)
	for i, j := range journeys {
		j = j.DeepCopy()
		steps, marks := j.Status.Steps, j.Status.Marks
		j.Status.Steps, j.Status.Marks = nil, nil
		fmt.Fprintf(&b, "%s\n{%q:%s,\n %q:%s,\n %q:%s", map[bool]string{true: ","}[i > 0],
			"metadata", compact(&j.ObjectMeta), "spec", compact(&j.Spec), "status", bytes.TrimSuffix(compact(&j.Status), []byte("}")))
		fmt.Fprintf(&b, ",\"steps\":[")
		for k := range steps {
			s := steps[k]
			before, after := s.Before, s.After
			s.Before, s.After = nil, nil
			fmt.Fprintf(&b, "%s\n  %s", map[bool]string{true: ","}[k > 0], bytes.TrimSuffix(compact(&s), []byte("}")))
			if before != nil {
				fmt.Fprintf(&b, ",\n   %q:%s", "before", compact(before))
			}
			if after != nil {
				fmt.Fprintf(&b, ",\n   %q:%s", "after", compact(after))
			}
			b.WriteString("}")
		}
		b.WriteString("],\"marks\":[")
		for k := range marks {
			fmt.Fprintf(&b, "%s\n  %s", map[bool]string{true: ","}[k > 0], compact(&marks[k]))
		}
		b.WriteString("]}}")
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// TestNormal replaces the same by the same, and what differs by what differs.
func TestNormal(t *testing.T) {
	t.Parallel()
	const a, b = "4afda356-ddc0-4875-ba84-8fd9fb39fee5", "2ab9c401-293a-428b-92fa-ef2f945a2055"
	got := string(newNormal().answers([]byte(`{"uid":"` + a + `","uid":"` + b + `","uid":"` + a + `","journey":"0f9343-12","tookMicros": 87,
"time":"2026-11-26T23:59:51Z","since":"2026-11-26T23:59:51.123456Z","raw":"` + base64.StdEncoding.EncodeToString([]byte("x "+b)) + `"}`)))
	want := `{"uid":"00000000-0000-4000-8000-000000000002","uid":"00000000-0000-4000-8000-000000000001","uid":"00000000-0000-4000-8000-000000000002",` +
		`"journey":"0000aa-1","tookMicros": 100,
"time":"2026-01-02T03:04:05Z","since":"2026-01-02T03:04:05.000000Z","raw":"` + base64.StdEncoding.EncodeToString([]byte("x 00000000-0000-4000-8000-000000000001")) + `"}`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// rewriting says whether recordings are written anew.
func rewriting() bool {
	rewrite := flag.Lookup("rewrite")
	return rewrite != nil && rewrite.Value.String() == "true"
}
