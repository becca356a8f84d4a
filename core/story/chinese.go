package story

import (
	"fmt"
	"strings"
)

// chinese is the grammar of Chinese. What a step does, and why, comes in Chinese; names and errors come as they are.
type chinese struct{}

func (chinese) request(user, request, agent string) string {
	text := "有人请求 " + request
	if user != "" {
		text = user + " 请求 " + request
	}
	if agent != "" {
		text += "，客户端为 " + agent
	}
	return text + "。"
}

func (chinese) install(path, server string) string {
	return fmt.Sprintf("%s 是怎样由 %s 注册并开始提供服务的。这不是由请求触发的。", path, server)
}

func (chinese) installEnd(took string) string {
	return fmt.Sprintf("从此开始提供服务。仅为它所做的工作用时 %s。", took)
}

func (chinese) filters(filters int, rule, took string) string {
	text := fmt.Sprintf("%d 个过滤器放行", filters)
	if rule != "" {
		text += "：" + rule
	}
	return text + inBrackets(took) + "。"
}

func (chinese) step(s texts) string {
	text := s.does
	if s.times > 1 {
		text += fmt.Sprintf("，共 %d 次，结果相同", s.times)
	}
	if s.why != "" {
		text += "——" + s.why
	}
	if s.failed {
		text += "；失败"
	}
	if s.failure != "" {
		text += "：" + strings.TrimRight(s.failure, ".")
	}
	if s.folded > 0 {
		s.took = strings.TrimPrefix(fmt.Sprintf("%s；%s 中 %d 步：%s", s.took, s.box, s.folded, s.alone), "；")
	}
	return text + inBrackets(s.took) + "。"
}

func (chinese) hold(by, at string) string {
	return fmt.Sprintf("请求停在这里：%s，位于 %s。", by, at)
}

func (chinese) running() string { return "请求还在进行。" }

func (chinese) watchEnd(code, failure int32, took string) string {
	return fmt.Sprintf("响应码是 %d，监听在 %s 后以 %d 结束。", code, took, failure)
}

func (chinese) answer(code int32, bytes, revision int64, took string) string {
	text := fmt.Sprintf("响应码是 %d，共 %d 字节，用时 %s", code, bytes, took)
	if revision > 0 {
		text += fmt.Sprintf("；写入后 etcd 的修订版本为 %d", revision)
	}
	return text + "。"
}

func (chinese) fact(name, text string) string {
	if name != "" {
		text = name + "：" + text
	}
	return strings.TrimRight(text, ".") + "。"
}

func (chinese) advice(text string) string { return "可以这样处理：" + text + "。" }

func (chinese) outcome(what string, revision int64, after string) string {
	return what + inBrackets(fmt.Sprintf("修订版本 %d，请求开始后 %s", revision, after)) + "。"
}

func (chinese) delivery(watch, user, change string, revision int64, after string) string {
	if user != "" {
		user += " 的"
	}
	return fmt.Sprintf("把修订版本 %d 的 %s 事件发送给 %s监听 %s%s。", revision, change, user, watch, inBrackets("请求开始后 "+after))
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return "（" + text + "）"
}

func (chinese) cause(journey string, revision int64) string {
	if journey == "" {
		return fmt.Sprintf("起因：服务看到了修订版本 %d，不知道由哪个请求写入。", revision)
	}
	return fmt.Sprintf("起因：服务看到了 %s 写入的修订版本 %d。", journey, revision)
}

func (chinese) effect(who, verb, what, journey string, revision int64, after string) string {
	text := fmt.Sprintf("随后 %s 对 %s 执行 %s", who, what, verb)
	if revision > 0 {
		text += fmt.Sprintf("，修订版本 %d", revision)
	}
	return text + fmt.Sprintf("：%s（请求开始后 %s）。", journey, after)
}
