package controller_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func startJobs(t *testing.T, dir string, etcds ...string) *controllertest.Stage {
	t.Helper()
	clients, _ := controllertest.Serve(t, withAll(), dir, etcds...)
	return &controllertest.Stage{Clients: clients, T: t, Namespace: "default"}
}

// untilJobsGone waits until so many jobs have been deleted since a revision.
func untilJobsGone(s *controllertest.Stage, since string, names ...string) {
	s.T.Helper()
	w := must[watch.Interface](s.T)(s.BatchV1().Jobs(s.Namespace).Watch(s.T.Context(), metav1.ListOptions{ResourceVersion: since}))
	defer w.Stop()
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	timeout := time.After(controllertest.Patience)
	for len(missing) > 0 {
		select {
		case event := <-w.ResultChan():
			if event.Type == watch.Deleted {
				delete(missing, event.Object.(*batchv1.Job).Name)
			}
		case <-timeout:
			s.T.Fatalf("in %v these jobs did not go: %v", controllertest.Patience, missing)
		}
	}
}

// TestTTLOdd has what no client can write: bytes that are no job, a condition that does not say since when it is true, a job of nothing.
func TestTTLOdd(t *testing.T) {
	t.Parallel()
	s := startJobs(t, "")
	timeless := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "timeless", UID: "1"},
		Spec:       batchv1.JobSpec{TTLSecondsAfterFinished: new(int32(0))},
		Status:     batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}},
	}
	data, err := json.Marshal(timeless)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"damaged": "k8s\x00\xff\xff\xff", "empty": "", "nothing": `{"apiVersion":"batch/v1","kind":"Job"}`, "timeless": string(data),
	} {
		if _, err := s.Etcd.Put(t.Context(), "/registry/jobs/default/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	job := createJob(s, "long-ago", 60)
	finishJob(s, job, batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
	untilJobsGone(s, job.ResourceVersion, "long-ago")
	if _, err := s.BatchV1().Jobs(s.Namespace).Get(t.Context(), "timeless", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"damaged", "empty"} {
		if got, err := s.Etcd.Get(t.Context(), "/registry/jobs/default/"+name); err != nil || len(got.Kvs) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestTTLTwo has two servers on one etcd.
func TestTTLTwo(t *testing.T) {
	t.Parallel()
	s := startJobs(t, "")
	startJobs(t, "", s.Etcd.Endpoints()...)
	since := createJob(s, "first", -1).ResourceVersion
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("job-", i))
		finishJob(s, createJob(s, names[i], 60), batchv1.JobComplete, corev1.ConditionTrue, time.Hour)
	}
	untilJobsGone(s, since, names...)
	if _, err := s.BatchV1().Jobs(s.Namespace).Get(t.Context(), "first", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestTTLRestart has a job whose time comes while no server runs.
func TestTTLRestart(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	o := withAll()
	o.Controllers = []string{"*", "-ttl-after-finished"}
	clients, stop := controllertest.Serve(t, o, dir)
	s := &controllertest.Stage{Clients: clients, T: t, Namespace: "default"}
	job := createJob(s, "over", 0)
	finishJob(s, job, batchv1.JobFailed, corev1.ConditionTrue, time.Hour)
	stop()
	s = startJobs(t, dir)
	if _, err := s.BatchV1().Jobs(s.Namespace).Get(t.Context(), job.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		untilJobsGone(s, job.ResourceVersion, job.Name)
	}
}
