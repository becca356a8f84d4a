package webhook

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/trace"
)

// parts holds the fields of a review or of an object in it. All versions of reviews have the same fields.
type parts map[string]json.RawMessage

// partOf returns the request or the response of a review, nil if it has none.
func partOf(review runtime.Object, name string) (part parts) {
	data, err := json.Marshal(review)
	if err != nil {
		return nil
	}
	var all parts
	if json.Unmarshal(data, &all) != nil || json.Unmarshal(all[name], &part) != nil {
		return nil
	}
	return part
}

// showReview records the review in the step, if objects are recorded. The object is the step's Before. The old
// object is a separate text, since long texts are cut.
func showReview(step *trace.Step, review runtime.Object) {
	if !step.Objects() {
		return
	}
	request := partOf(review, "request")
	if given(request["object"]) && given(request["oldObject"]) {
		showPart(step, "oldObject", request["oldObject"], step.Confidential())
	}
	delete(request, "object")
	delete(request, "oldObject")
	var who parts
	if json.Unmarshal(request["userInfo"], &who) == nil {
		delete(who, "extra") // it may come from headers
		request["userInfo"], _ = json.Marshal(who)
	}
	showPart(step, "review", request, false)
}

// given reports whether a review has an object.
func given(object json.RawMessage) bool { return len(object) > 0 && string(object) != "null" }

// showAnswer records the webhook's answer in the step, if objects are recorded. The patch is shown operation by
// operation.
func showAnswer(step *trace.Step, answer runtime.Object) {
	if !step.Objects() {
		return
	}
	response := partOf(answer, "response")
	delete(response, "patch")
	if step.Confidential() { // all but these may quote the object
		var status struct {
			Code int32 `json:"code"`
		}
		_ = json.Unmarshal(response["status"], &status) // there may be none
		response = parts{"uid": response["uid"], "allowed": response["allowed"], "status": fmt.Appendf(nil, `{"code":%d}`, status.Code)}
	}
	showPart(step, "answer", response, false)
}

// showPart records a part of a review as JSON.
func showPart(step *trace.Step, name string, part any, confidential bool) {
	data, err := json.Marshal(part)
	if err == nil {
		data, err = mask.JSON(data, confidential)
	}
	if err == nil {
		step.Text(name, string(data))
	}
}
