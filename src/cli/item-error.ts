/** What went wrong with one item of a command, as all forms of output show it. */

import { ERROR, errorInfo } from '../protocol/errors.js'

export interface ItemError {
	/** Topic, group, `topic-partition` …; null when it concerns the whole. */
	readonly item: string | null
	/** Kafka's code, or a `KCLI_*` one. */
	readonly code: number | string
	readonly name: string
	readonly message: string
	readonly retriable: boolean
	/** What to do about it; shown to people only. */
	readonly hint?: string | null
}

/** From a broker's answer for one item. */
export function itemError(
	item: string,
	errorCode: number,
	brokerMessage: string | null = null,
	hint: string | null = null,
): ItemError {
	const { name, retriable, text } = errorInfo(errorCode)
	return { item, code: errorCode, name, message: brokerMessage ?? text, retriable, hint }
}

/** An unknown topic or group, with what may have been meant. */
export function unknownItem(item: string, what: 'topic' | 'group', hint: string | null): ItemError {
	const code = what === 'topic' ? ERROR.UNKNOWN_TOPIC_OR_PARTITION : ERROR.GROUP_ID_NOT_FOUND
	return itemError(item, code, `there is no such ${what}`, hint)
}

export class ItemErrors {
	readonly list: ItemError[] = []

	/** Notes a failure; true when `errorCode` is one. */
	add(item: string, errorCode: number, brokerMessage: string | null = null, hint: string | null = null): boolean {
		if (errorCode === ERROR.NONE) return false
		this.list.push(itemError(item, errorCode, brokerMessage, hint))
		return true
	}
}
