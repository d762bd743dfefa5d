/** A spinner on stderr while something takes long: on a terminal only, never in CI, and not for what is done at once. */

/** Work that is done sooner shows nothing: the spinner's package costs more to load than most commands take. */
const SHOW_AFTER_MS = 300

export function isSpinnerWanted(isQuiet: boolean): boolean {
	const { CI, TERM } = process.env
	return (
		!isQuiet && process.stderr.isTTY === true && TERM !== 'dumb' && (CI === undefined || CI === '' || CI === 'false')
	)
}

/** Runs `job` with a spinner that says `text`. */
export async function withSpinner<T>(text: string, isQuiet: boolean, job: () => Promise<T>): Promise<T> {
	if (!isSpinnerWanted(isQuiet)) return await job()
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
