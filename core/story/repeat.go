package story

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// reads are the steps that read something without changing it.
var reads = map[string]bool{
	steps.RESTGet.String(): true, steps.RESTList.String(): true, steps.StoreGet.String(): true, steps.StoreList.String(): true,
	steps.CacherGet.String(): true, steps.CacherList.String(): true, steps.Etcd3Get.String(): true, steps.Etcd3List.String(): true,
	steps.EtcdGet.String(): true, steps.EtcdKeyRevision.String(): true, steps.EtcdRange.String(): true,
}

// repetitions counts how often each step was taken alike. Of reads of one thing that went the same way, with the same
// result, the first has their number, and the others have 0, as have all steps that those called.
func repetitions(j *v1alpha1.Journey) []int {
	taken := j.Status.Steps
	times := make([]int, len(taken))
	for i := range times {
		times[i] = 1
	}
	first := map[string]int{}
	for i := 0; i < len(taken); i++ {
		if !reads[taken[i].ID] {
			continue
		}
		end := i + 1
		for end < len(taken) && int(taken[end].Parent) >= i && int(taken[end].Parent) < end {
			end++
		}
		how, ok := sameness(taken[i:end])
		if at, again := first[how]; ok && again {
			times[at]++
			clear(times[i:end])
		} else if ok {
			first[how] = i
		}
		i = end - 1
	}
	return times
}

// sameness describes what steps did. ok is false for steps that failed or still run, which are told each for itself.
func sameness(taken []v1alpha1.Step) (how string, ok bool) {
	var b strings.Builder
	for i := range taken {
		s := &taken[i]
		if s.Error != "" || s.TookNanos < 0 {
			return "", false
		}
		fmt.Fprintf(&b, "%q %q %q", s.ID, s.Subject, s.Why)
		for _, a := range s.Attributes {
			fmt.Fprintf(&b, " %q %q", a.Name, a.Value)
		}
		b.WriteByte('\n')
	}
	return b.String(), true
}
