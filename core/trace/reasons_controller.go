package trace

// Reasons of what controllers decide.
var (
	DefinitionJudged = because("definition-judged", "what is known of the definition calls for {conditions:word}")
	DefinitionEnds   = because("definition-ends", "the definition is being deleted, and its objects go first")

	NamespaceEnds    = because("namespace-ends", "the namespace {name:quote} is being deleted, and what is in it goes first")
	NamespaceEmpty   = because("namespace-empty", "nothing is left in the namespace: it may go")
	NamespaceRemains = because("namespace-remains", "conditions that say what is left in the namespace, and why: {conditions}")

	OwnersGone        = because("owners-gone", "owners that it names: {owners}; owners that stay: 0")
	OwnersWait        = because("owners-wait", "an owner that is being deleted waits until it is gone: its own dependents go first")
	ReferencesDropped = because("references-dropped",
		"it keeps an owner that exists, and loses the references to {gone} that don't, or wait for it")
	OwnersUnblocked = because("owners-unblocked", "its owners wait for it and it waits for them: it blocks them no longer")
	DependentsGone  = because("dependents-gone", "no dependent is left that blocks its deletion")
	OwnerLeaves     = because("owner-leaves", "its owner is deleted without it")
	NobodyLeft      = because("nobody-left", "nobody names it as an owner any more")
	OwnerElsewhere  = because("owner-elsewhere", "it names an owner that is not in its namespace")

	JobOutlived     = because("job-outlived", "the job has been finished for the {seconds} seconds that it was to stay")
	RulesAggregated = because("rules-aggregated", "the {roles} cluster roles that it selects have {rules} rules")
	TypesChecked    = because("types-checked",
		"its status does not say what it is now: expressions with wrong types: "+
			"{warnings}; kinds of objects that they were checked for: {kinds}")
	ProtectionMissing = because("protection-missing", "nothing keeps it from being deleted while it is used")
	NotInUse          = because("not-in-use", "it is being deleted, and is not in use")
	UseChanged        = because("use-changed", "whether a pod refers to the claim has changed")
	RequestSigned     = because("request-signed", "the request was approved, and may have what it asks for")
	RequestFails      = because("request-fails", "the request was approved, but its signer gives nobody such a certificate")
	RequestOld        = because("request-old", "the request has been as it is for long enough, or its certificate has ended")
	RangeReady        = because("range-ready", "the range of addresses can be used")
	RangeInUse        = because("range-in-use", "the range is being deleted, and addresses that no other range has are in use")
	QuotaCounted      = because("quota-counted", "the quota's status does not say what the objects of the namespace use of {names:word}")
	EveryNamespace    = because("every-namespace", "every namespace has one")
	PutBack           = because("put-back", "every namespace has it, and like this")
	AccountGone       = because("account-gone", "the service account whose token it is for is gone, or another one has its name")
	TokenSecretLacks  = because("token-secret-lacks", "the service account that it names exists, and it lacks {keys:word}")
	TokenSecretGone   = because("token-secret-gone", "a secret that it lists was for its token, and is gone")
	TokenUsed         = because("token-used", "its token has authenticated somebody today")
	TrackingBegins    = because("tracking-begins", "no day is known since which the use of tokens is written down")
	TokenUnused       = because("token-unused", "nobody has used its token for a year")
	TokenInvalid      = because("token-invalid", "its token has been invalid for a year")
	AddressMissing    = because("address-missing", "the service has the cluster IP, and there is no IPAddress of it")
	AddressWrong      = because("address-wrong", "the service has the cluster IP, and the IPAddress names another owner or lacks labels")
	AddressLeaked     = because("address-leaked", "the IPAddress was taken for a service, and no service has the address")
	PortsDiffer       = because("ports-differ",
		"node ports that services have and that are not marked as taken: {unmarked}; that are marked and that no service has: {leaked}")
	TroubleTold    = because("trouble-told", "who uses the object can see it in an event: {kind:word}")
	RemoteJudged   = because("remote-judged", "whether its server is there has changed: {message:quote}")
	EndedMeanwhile = because("ended-meanwhile", "its namespace has begun to end meanwhile")
)
