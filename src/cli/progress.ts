/** A spinner on stderr while something takes long: on a terminal only, never in CI, and not for what is done at once. */

/** Work that is done sooner shows nothing: the spinner's package costs more to load than most commands take. */
const SHOW_AFTER_MS = 300

export interface SpinnerChoice {
	readonly quiet: boolean
	readonly showing?: string
}

export function isSpinnerWanted(isQuiet: boolean): boolean {
	const { CI, TERM } = process.env
	return (
		!isQuiet && process.stderr.isTTY === true && TERM !== 'dumb' && (CI === undefined || CI === '' || CI === 'false')
	)
}

/** Runs `job` with a spinner that says `text`; none for a report that is shown again and again. */
export async function withSpinner<T>(text: string, choice: SpinnerChoice, job: () => Promise<T>): Promise<T> {
	if (choice.showing !== undefined || !isSpinnerWanted(choice.quiet)) return await job()
	let stop = (): void => undefined
	let isDone = false
	const timer = setTimeout(() => {
		void import('ora').then(({ default: ora }) => {
			if (isDone) return
			const spinner = ora({ text, stream: process.stderr, discardStdin: false }).start()
			stop = () => spinner.stop()
		})
	}, SHOW_AFTER_MS)
	try {
		return await job()
	} finally {
		isDone = true
		clearTimeout(timer)
		stop()
	}
}
