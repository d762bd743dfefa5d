/** Many lines to stdout: joined into large writes, and held back while the reader is slower. */

const CHUNK_CHARACTERS = 65_536

export class LineWriter {
	#text = ''

	/** Adds a line. True: await {@link drain} before going on. */
	add(line: string): boolean {
		this.#text += `${line}\n`
		return this.#text.length >= CHUNK_CHARACTERS
	}

	/** Settles when stdout takes more. */
	async drain(): Promise<void> {
		const text = this.#text
		this.#text = ''
		if (text === '' || process.stdout.write(text)) return
		await new Promise<void>((resolve) => process.stdout.once('drain', resolve))
	}
}
