/** Ctrl-C and SIGTERM as an orderly end: the first asks, a second one ends the process at once. */

import { EXIT, type ExitCode } from './errors.js'

export class Interrupt {
	readonly #listeners: (() => void)[] = []
	readonly #onSignal: (signal: NodeJS.Signals) => void
	#code: ExitCode | null = null

	constructor() {
		this.#onSignal = (signal) => {
			const code = signal === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted
			if (this.#code !== null) process.exit(code)
			this.#code = code
			for (const listener of this.#listeners.splice(0)) listener()
		}
		process.on('SIGINT', this.#onSignal)
		process.on('SIGTERM', this.#onSignal)
	}

	/** The exit code that the signal asks for; null while there was none. */
	get code(): ExitCode | null {
		return this.#code
	}

	/** Called once, at the first signal. */
	onSignal(listener: () => void): void {
		this.#listeners.push(listener)
	}

	/** Signals do again what they do by default. */
	dispose(): void {
		process.off('SIGINT', this.#onSignal)
		process.off('SIGTERM', this.#onSignal)
	}
}
