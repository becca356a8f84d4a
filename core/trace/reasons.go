package trace

// Reasons of the layers from the socket to the REST call. [Reason] explains the placeholders.
var (
	// Filters.
	NoResourcePath         = because("no-resource-path", "the path does not name a resource")
	ServedWhileStopping    = because("served-while-stopping", "the server is stopping, but the path does not name a resource")
	ServerStopping         = because("server-stopping", "the server is stopping")
	NoDeadline             = because("no-deadline", "the request is long-running: it has no deadline")
	ObjectsAsked           = because("objects-asked", "the client asked for objects, and may get journeys.kx.dev")
	ObjectsRefused         = because("objects-refused", "objects are for clients who may get journeys.kx.dev: steps alone are recorded")
	ObjectsForAll          = because("objects-for-all", "this server records steps and objects of every request")
	ObjectsRecorded        = because("objects-recorded", "steps and objects are recorded, as the recording {name:word} says")
	StepsForAll            = because("steps-for-all", "steps are recorded, as for every request")
	NoAuditLog             = because("no-audit-log", "no audit log is kept")
	KnownByCertificate     = because("known-by-certificate", "by the client certificate")
	KnownByTokenFile       = because("known-by-token-file", "by a token of --token-auth-file")
	KnownByAccountToken    = because("known-by-account-token", "by a token of the service account {account:word}")
	KnownByBootstrapToken  = because("known-by-bootstrap-token", "by the bootstrap token of the Secret kube-system/{secret:word}")
	KnownByProxy           = because("known-by-proxy", "by the headers of the proxy {name:word}, which has found out who asks")
	KnownAsNobody          = because("known-as-nobody", "the request has no credentials, so it is that of system:anonymous")
	BootstrapSecretMissing = because("bootstrap-secret-missing", "a bootstrap token, and there is no Secret kube-system/{secret:word}")
	BootstrapSecretGoing   = because("bootstrap-secret-going",
		"a bootstrap token, and its Secret kube-system/{secret:word} is being deleted")
	BootstrapTypeWrong = because("bootstrap-type-wrong",
		"a bootstrap token, and the type of the Secret kube-system/{secret:word} is not bootstrap.kubernetes.io/token")
	BootstrapWordWrong = because("bootstrap-word-wrong",
		"a bootstrap token, and token-secret of the Secret kube-system/{secret:word} is another one")
	BootstrapIdentifierWrong = because("bootstrap-identifier-wrong",
		"a bootstrap token, and token-id of the Secret kube-system/{secret:word} is another one")
	BootstrapExpired = because("bootstrap-expired",
		"a bootstrap token, and by expiration of the Secret kube-system/{secret:word} it has ended")
	BootstrapUsageWrong = because("bootstrap-usage-wrong",
		"a bootstrap token, and the Secret kube-system/{secret:word} does not have usage-bootstrap-authentication as true")
	BootstrapGroupsWrong = because("bootstrap-groups-wrong",
		"a bootstrap token, and auth-extra-groups of the Secret kube-system/{secret:word} has more than groups that begin with "+
			"system:bootstrappers:")
	KnownByIssuer = because("known-by-issuer", "by a token of the issuer {issuer:quote}")
	IssuerUnknown = because("issuer-unknown",
		"the token names the issuer {issuer:quote}, and that is none whom the server believes")
	IssuerAway         = because("issuer-away", "the server can't check the token before it has reached its issuer: {why:word}")
	TokenOfIssuerWrong = because("token-of-issuer-wrong", "the token is to be of the issuer {issuer:quote}, and does not hold")
	KnownByWebhook     = because("known-by-webhook", "by the token webhook {address:word}")
	WebhookKnowsNobody = because("webhook-knows-nobody", "the token webhook {address:word} does not know the token")
	AnonymousElsewhere = because("anonymous-elsewhere",
		"the request has no credentials, and its path is none that the authentication configuration opens for such")
	NoImpersonation       = because("no-impersonation", "nobody asked for it")
	MayActAs              = because("may-act-as", "the user may do so: {rule:word}")
	NoSeatNeeded          = because("no-seat-needed", "the request is long-running: it takes no seat")
	NoSeatFree            = because("no-seat-free", "no seat is free")
	AdministratorAdmitted = because("administrator-admitted", "no seat is free, but administrators are let in without one")
	LevelThere            = because("level-there", "the priority level that the flow schema names exists")
	LevelMissing          = because("level-missing",
		"the priority level that the flow schema names does not exist: its requests go by catch-all")
	FlowExempt  = because("flow-exempt", "{flow:word}: such requests never wait")
	SeatThere   = because("seat-there", "{flow:word}: it takes {seats} of the level's seats")
	SeatAwaited = because("seat-awaited",
		"{flow:word}: it waited {micros} µs for {seats} of the level's seats, which others had taken")
	SeatAwaitedInQueue = because("seat-awaited-in-queue",
		"{flow:word}: it waited {micros} µs in queue {queue} for {seats} of the level's seats, which others had taken")
	SeatGivenUp  = because("seat-given-up", "{flow:word}: it was held, gave its seat back, and goes on without one")
	LevelFull    = because("level-full", "{flow:word}: others have taken all seats of the level, and its requests don't wait")
	QueueFull    = because("queue-full", "{flow:word}: others have taken all seats of the level, and its queue is full")
	WaitedInVain = because("waited-in-vain",
		"{flow:word}: it waited {micros} µs, and others had the level's seats all the while")
	Allowed      = because("allowed", "{rule:word}")
	CountedWrite = because("counted-write",
		"code {code} in apiserver_request_total, its time in apiserver_request_duration_seconds: {labels:word}")
	CountedRead = because("counted-read",
		"code {code} in apiserver_request_total, its time in apiserver_request_duration_seconds, its bytes in apiserver_response_sizes: "+
			"{labels:word}")
	CountedLong = because("counted-long",
		"code {code} in apiserver_request_total, one less in apiserver_longrunning_requests; "+
			"the time of long-running requests is not recorded: {labels:word}")
	NoBinding = because("no-binding", "no binding of {who:word}")
	Denied    = because("denied", "{authorizer:word}")

	// Admission plugins.
	PluginLeft       = because("plugin-left", "there is nothing to do for it here")
	TolerationsAdded = because("tolerations-added",
		"the pod does not say how long it stays on a node that is gone: {count} tolerations added")
	TaintAdded           = because("taint-added", "a new node is not ready until its kubelet says so")
	PriorityKept         = because("priority-kept", "the client left the priority out: it stays")
	PriorityOfClass      = because("priority-of-class", "the pod's class is {class:quote}: priority {priority}")
	PriorityOfNoClass    = because("priority-of-no-class", "the pod names no class and none is the default: priority {priority}")
	OnlyDefault          = because("only-default", "no other class is the default")
	ClassNamed           = because("class-named", "the object names its class")
	NoDefaultClass       = because("no-default-class", "the object names no class, and none is the default")
	ClassByDefault       = because("class-by-default", "the object names no class: the default one is {class:quote}")
	ClassAllowsExpansion = because("class-allows-expansion", "the class {class:quote} allows larger volumes")
	FinalizerAdded       = because("finalizer-added",
		"finalizer {finalizer:word} added: a controller takes it away when nobody uses the object")
	RuntimeClassFound = because("runtime-class-found", "the runtime class {class:quote} says what it costs, and where it can run")
	OverheadRight     = because("overhead-right", "the overhead is that of the runtime class")
	SignerAllowed     = because("signer-allowed", "the user may {verb:quote}")
	SubjectHarmless   = because("subject-harmless", "the certificate would not be one of those who may do all")
	TopologyCopied    = because("topology-copied", "{count} labels copied from the node {node:quote}")
	NodeHasRoom       = because("node-has-room", "the node {node:quote} has room for it")
	LimitsAdded       = because("limits-added", "limit ranges of the namespace have {count} amounts that its containers don't name")
	LimitsThere       = because("limits-there", "the namespace has {count} limit ranges, and they add nothing")
	LimitsHeld        = because("limits-held", "it is within the {count} limit ranges of the namespace")
	WebhooksAsked     = because("webhooks-asked", "{count} of {all} webhooks are about this write")
	WebhookAsked      = because("webhook-asked", "its rule {rule} is about this write: it is asked")
	WebhookAllowed    = because("webhook-allowed", "its rule {rule} is about this write: it allows it")
	WebhookDenied     = because("webhook-denied", "its rule {rule} is about this write: it refuses it")
	WebhookFailed     = because("webhook-failed",
		"its rule {rule} is about this write, but the call failed, and its failurePolicy is Fail: the write is refused")
	WebhookLeft    = because("webhook-left", "its rule {rule} is about this write: it allows it and changes nothing")
	WebhookChanged = because("webhook-changed",
		"its rule {rule} is about this write: it allows it, and its patch of {count} operations changes the object")
	WebhookIgnored = because("webhook-ignored",
		"its rule {rule} is about this write, but the call failed, and its failurePolicy is Ignore: {error:quote}")
	WebhookOtherNamespace = because("webhook-other-namespace",
		"its rule {rule} is about this write, but its namespaceSelector is not about the namespace: it is not asked")
	WebhookOtherLabels = because("webhook-other-labels",
		"its rule {rule} is about this write, but its objectSelector is not about the object: it is not asked")
	WebhookConditionFalse = because("webhook-condition-false",
		"its rule {rule} is about this write, but its match condition {condition:quote} is false: it is not asked")
	WebhookConditionFailed = because("webhook-condition-failed",
		"its rule {rule} is about this write, but a match condition can't be evaluated, and its failurePolicy is Ignore: it is not asked")
	PoliciesAsked = because("policies-asked", "{count} of {all} policies are about this write")
	PolicyHeld    = because("policy-held", "all {count} expressions hold")
	PolicyDenied  = because("policy-denied", "{failed} of {count} expressions fail: the binding denies the write")
	PolicyTold    = because("policy-told",
		"{failed} of {count} expressions fail: the binding has the client warned, or the audit log told, and lets the write pass")
	PolicyWithoutParams = because("policy-without-params",
		"nothing that the binding names as params is there: the policy is not evaluated")
	PolicyBoundElsewhere = because("policy-bound-elsewhere", "the policy is about this write, but the binding is not")
	PolicyOtherNamespace = because("policy-other-namespace",
		"its rules are about this write, but its namespaceSelector is not about the namespace")
	PolicyOtherLabels = because("policy-other-labels",
		"its rules are about this write, but its objectSelector is not about the object")
	PolicyConditionFalse = because("policy-condition-false",
		"its rules are about this write, but its match condition {condition:quote} is false: it is not evaluated")
	PolicyConditionFailed = because("policy-condition-failed",
		"its rules are about this write, but its match condition {condition:quote} can't be evaluated, and its failurePolicy is Ignore")
	PolicyChanged       = because("policy-changed", "its {count} mutations change the object")
	PolicyLeft          = because("policy-left", "its mutations change nothing")
	PolicyWithoutObject = because("policy-without-object", "there is no object that it could change")
	PolicyIgnored       = because("policy-ignored", "it can't be evaluated, and its failurePolicy is Ignore: {error:quote}")

	AccountGiven   = because("account-given", "its account is {account:quote}: {count} containers get its token")
	AccountThere   = because("account-there", "its account {account:quote} is there")
	MirrorLeft     = because("mirror-left", "it stands for a pod in a file of its kubelet: such a pod has no account")
	SecurityHeld   = because("security-held", "it keeps to the level {level:word} that the namespace enforces")
	SecurityWarned = because("security-warned", "the client is warned {count} times: some pods go beyond a level of the namespace")

	NodeDeclares     = because("node-declares", "the node {node:quote} declares the features that the update needs")
	PullPoliciesSet  = because("pull-policies-set", "{count} pull policies are now Always")
	PullsAlways      = because("pulls-always", "every pull policy is Always")
	DevicesTolerated = because("devices-tolerated", "the pod requests devices and tolerates their taints: {devices:quote}")
	KeepsWithinNode  = because("keeps-within-node", "each required anti-affinity term is about single nodes")
	NamespaceThere   = because("namespace-there", "the namespace exists")
	NamespaceMade    = because("namespace-made", "the namespace {namespace:quote} did not exist: it was created")
	NodeHasPod       = because("node-has-pod", "the pod is bound to the node {node:quote}")
	NodeMirrors      = because("node-mirrors",
		"the pod mirrors one that the node {node:quote} runs by itself, and references no other object")
	NodeItself     = because("node-itself", "the node {node:quote} writes its own Node, and nothing there that is not its to set")
	NodeGrowsClaim = because("node-grows-claim", "the node changes only what tells how far a volume has grown")
	NodeNamed      = because("node-named", "the object is named after the node {node:quote}, or names it")
	NodeTokenUsed  = because("node-token-used",
		"the token is bound to the pod {pod:quote} of the node, which has a volume for its audience")
	NodeSignerUsed = because("node-signer-used", "the node runs the pod {pod:quote}, which has a volume for certificates of the signer")
	NodeAuthorized = because("node-authorized", "no volume of the pod asks for it, but the node may {verb:quote}")
	OwnersAllowed  = because("owners-allowed", "the user has the rights that a change of these owner references takes")

	QuotasCharged  = because("quotas-charged", "the quotas are charged before the object is written: {amounts:quote}")
	QuotasHaveRoom = because("quotas-have-room",
		"the quotas have room; a dry run charges nothing, the write itself would bring them to {amounts:quote}")
	QuotasUntouched = because("quotas-untouched", "the write uses no more of any quota of the namespace than before")

	// The way to the handler.
	PathTaken       = because("path-taken", "taken: the server has the group, the resource and the verb")
	ServedElsewhere = because("served-elsewhere", "an APIService says that the service {name:quote} has this version")
	PathLeft        = because("path-left", "left to the next server: no group that is installed here has the path")
	ResourceMissing = because("resource-missing", "taken, for the group is installed here, but it has no such resource in this version")
	PlaceMissing    = because("place-missing", "taken, for the resource is installed here, but it has nothing at a path of this shape")
	MethodMissing   = because("method-missing", "taken, for the resource is installed here, but it has no such method at this path")
	VerbsThereAre   = because("verbs-there-are", "there are {verbs:word}")
	NobodyHasPath   = because("nobody-has-path",
		"every server of the chain has left the path to the next one, and there is none behind the last")
	ObjectNamed       = because("object-named", "the path names an object, and its namespace")
	ObjectNamedAlone  = because("object-named-alone", "the path names an object that is in no namespace")
	NamespaceNamed    = because("namespace-named", "the path names a collection, and a namespace")
	CollectionNamed   = because("collection-named", "the path names a collection, in all namespaces or none")
	NothingNamed      = because("nothing-named", "the path has no name that can be part of a key")
	AnyMediaType      = because("any-media-type", "the client takes anything: {form:word}, the first that the resource has")
	MediaTypeAsked    = because("media-type-asked", "the client asked for {form:word} first, and the resource has it")
	MediaTypeNext     = because("media-type-next", "{form:word}: the resource can do nothing of the {clauses} that the client likes better")
	NoMediaType       = because("no-media-type", "the resource can do nothing of what the client takes")
	NoOptions         = because("no-options", "the query is empty: no option is set")
	OptionsInQuery    = because("options-in-query", "the query has {parameters:quote}")
	OptionsInBody     = because("options-in-body", "the body has them")
	OptionsNotAllowed = because("options-not-allowed", "the resource takes none: neither query nor body is read")

	// Custom resources: the definition and its serving info.
	NoDefinition            = because("no-definition", "there is no such CustomResourceDefinition")
	DefinitionNotNamespaced = because("definition-not-namespaced", "the resource is not namespaced")
	DefinitionNamespaced    = because("definition-namespaced", "the resource is namespaced, but the request has no namespace")
	VersionNotServed        = because("version-not-served", "the version {version:word} is not served")
	DefinitionServes        = because("definition-serves", "the definition is established and serves {version:word}")
	DefinitionServesEarly   = because("definition-serves-early",
		"the definition is not established yet, but its names are accepted, and it serves {version:word}")
	DefinitionFresh = because("definition-fresh",
		"the definition was not known here, so it was read from etcd: it serves {version:word}")
	SubresourceMissing = because("subresource-missing", "the definition serves the version, which has no such subresource")
	NamesNotAccepted   = because("names-not-accepted", "the definition's names are not accepted")
	DefinitionEnding   = because("definition-ending", "the definition is being deleted: requests that create objects are refused")
	ServingInfoReady   = because("serving-info-ready", "it was there")
	ServingInfoBuilt   = because("serving-info-built", "it was not there: this request built it in {micros}µs")
	ServingInfoShared  = because("serving-info-shared", "it was not there: another request has built it meanwhile")
	StrategyNone       = because("strategy-none", "strategy None: only apiVersion differs")
	StrategyWebhook    = because("strategy-webhook", "strategy Webhook")

	// Custom resources: the schema.
	AllFieldsPreserved     = because("all-fields-preserved", "nothing is dropped: spec.preserveUnknownFields is true")
	AllFieldsKnown         = because("all-fields-known", "nothing is dropped: the schema knows every field")
	UnknownFieldsDropped   = because("unknown-fields-dropped", "unknown fields dropped, in all {count}: {fields:quote}")
	NullsDropped           = because("nulls-dropped", "nulls dropped where the schema allows none, in all {count}: {fields:quote}")
	UnknownAndNullsDropped = because("unknown-and-nulls-dropped",
		"dropped {unknown} unknown fields, and {nulls} nulls where the schema allows none: {fields:quote}")
	NoDefaults          = because("no-defaults", "no default is set: the schema has none")
	NoDefaultNeeded     = because("no-default-needed", "no default is set: every field that has one is there")
	DefaultsSet         = because("defaults-set", "defaults set, in all {count}: {fields:quote}")
	SchemaWithoutRules  = because("schema-without-rules", "schema errors: {errors}; the schema has no rules")
	RulesKeptBack       = because("rules-kept-back", "schema errors: {errors}; that keeps its {rules} rules from being evaluated")
	RulesEvaluated      = because("rules-evaluated", "schema errors: {errors}; {rules:word}")
	RuleHeld            = because("rule-held", "held")
	RuleFailed          = because("rule-failed", "failed")
	RuleForgiven        = because("rule-forgiven", "failed, but the value is as it was before: only a warning: {error:quote}")
	RuleEmpty           = because("rule-empty", "not evaluated: the rule is empty")
	RuleWithoutOldValue = because("rule-without-old-value", "not evaluated: the rule is about a change, and there is no old value")
	RuleAfterLimit      = because("rule-after-limit", "not reached: no rule is evaluated after one that exceeded the cost limit")
	RuleWithoutValue    = because("rule-without-value", "not reached: the object has nothing at {path:word}")

	// Field owners.
	OwnersMoved    = because("owners-moved", "{moves:quote}")
	OwnerOfNothing = because("owner-of-nothing", "{manager:word} owns nothing here: it changed no field that can be owned")
	OwnerNoLonger  = because("owner-no-longer", "{manager:word} owns nothing here any longer")
	OwnerOfAll     = because("owner-of-all", "{manager:word} owns what it sent")
	OwnerOfFree    = because("owner-of-free", "{manager:word} owns what it changed, which nobody owned")
	OwnerAsBefore  = because("owner-as-before", "{manager:word} owns what it owned before")
	OwnerChanged   = because("owner-changed", "what {manager:word} owns has changed, and nobody else lost a field")
	OwnersConflict = because("owners-conflict", "it would change fields that others own, without force: {conflicts:quote}")
	PatchedAgain   = because("patched-again", "attempt {attempt}: the object has changed since the patch was last applied")

	// Answers.
	ObjectAsItIs     = because("object-as-it-is", "the object itself was asked for, and rest has it in this version")
	ObjectConverted  = because("object-converted", "the object itself was asked for, in {version:word}: rest has it in another version")
	StatusAsItIs     = because("status-as-it-is", "rest answers with a Status, which has no other form")
	TableAsked       = because("table-asked", "a Table was asked for: the resource has columns")
	MetadataAsked    = because("metadata-asked", "PartialObjectMetadata was asked for: the metadata, without the rest")
	MetadataOfListed = because("metadata-of-listed",
		"a PartialObjectMetadataList was asked for: the metadata of the items, without the rest")
	OtherKindAsked = because("other-kind-asked", "the client asked for {kind:quote}, which nothing can be made into")

	NoBudgetNeeded      = because("no-budget-needed", "the pod does not run: no budget counts it")
	NoBudget            = because("no-budget", "no budget selects the pod")
	BudgetSparesUnready = because("budget-spares-unready", "the pod is not ready, and the budget lets such pods go")
	BudgetAllows        = because("budget-allows", "the budget lets it go: afterwards it allows {left} more")

	TokenSigned    = because("token-signed", "signed with the key {key:word}: the token ends {seconds} s after it was made")
	TokenEndless   = because("token-endless", "signed with the key {key:word}: the token has no end")
	TokenShortened = because("token-shortened", "{asked} s were asked for, and the server allows {seconds} s")
	TokenExtended  = because("token-extended",
		"a pod's own token for this API, for the {asked} s that kubelets ask for: "+
			"it lives for {seconds} s, since old programs do not know that it ends")

	DeletionWaits = because("deletion-waits", "finalizers or a grace period keep the object for now")
	BytesReused   = because("bytes-reused", "the bytes were there: nothing is encoded")
	BytesMade     = because("bytes-made",
		"nobody has had the object in this form before: it is encoded, and the bytes are kept with it")
	ItemsReused = because("items-reused", "the bytes of all items were there: nothing is encoded")
	ItemsMade   = because("items-made",
		"{reused} of {items} items had their bytes: the others are encoded, and the bytes are kept with them")
	ItemsMadeForOne = because("items-made-for-one", "{made} of {items} items were encoded for this answer alone")
	AnswerCutOff    = because("answer-cut-off",
		"the answer had begun and can't be completed: the connection is cut, so that nobody takes it for the whole")
	WatchDropped      = because("watch-dropped", "somebody dropped the watch")
	ClientGone        = because("client-gone", "the client is gone")
	ClientClosed      = because("client-closed", "the client closed the connection")
	ClientUnreachable = because("client-unreachable", "the client can't be reached: {error:quote}")
	WatchTimeUp       = because("watch-time-up", "the time of the watch is up")
	WatchServerStops  = because("watch-server-stops", "the server is shutting down")
	WatchEndedBelow   = because("watch-ended-below", "the storage ended the watch")
	WatchFailed       = because("watch-failed", "{error:quote}")
)
