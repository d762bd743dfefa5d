/** What every command shares: how it is started, how an error becomes one line and an exit code, how it ends. */

import { ExitSignal, reportError, wantsJson } from './failure.js'
import { Command, Config } from './oclif.js'
import type { FlagFacts } from './usage-failure.js'

export abstract class BaseCommand extends Command {
	/**
	 * Runs the command with the given words; its exit code. Called by `main.ts` in place of oclif's `run`, which would load
	 * plugins and hooks that kcli does not have.
	 */
	static async start(this: CommandClass, argv: string[], root: string, id: string): Promise<number> {
		const config = new BareConfig({ root })
		config.bin = 'kcli'
		config.name = 'kcli'
		config.topicSeparator = ' '
		// biome-ignore lint/complexity/noThisInStatic: the class that is started, not this base
		this.id = id
		// An argument that is left out is left out: oclif would take it from stdin, which belongs to records.
		// biome-ignore lint/complexity/noThisInStatic: as above
		for (const arg of Object.values(this.args)) arg.ignoreStdin = true
		try {
			await new this(argv, config).go()
			return Number(process.exitCode ?? 0)
		} catch (error) {
			if (error instanceof ExitSignal) return error.exitCode
			throw error
		}
	}

	/** oclif's own cycle of init, run, catch. */
	go(): Promise<unknown> {
		return this._run()
	}

	/** Errors end here: a line on stderr, the hint under it, the exit code of its kind. */
	protected override async catch(error: Error): Promise<void> {
		if (error instanceof ExitSignal) throw error
		const code = await reportError(error, {
			command: this.id ?? null,
			isJson: wantsJson(this.argv),
			flags: flagFacts(this.ctor),
			argv: this.argv,
			usage: usageLine(this.ctor),
			isQuiet: false,
		})
		throw new ExitSignal(code)
	}

	/** Ends the command; the process follows once everything is written. Nothing behind the call is run. */
	protected exitNow(code: number): never {
		throw new ExitSignal(code)
	}
}

interface CommandClass {
	new (argv: string[], config: Config): BaseCommand
	id: string
	args: Record<string, { ignoreStdin?: boolean }>
}

/** oclif's configuration without its start: no plugins, hence no hooks. */
class BareConfig extends Config {
	override runHook(): Promise<never> {
		return Promise.resolve({ successes: [], failures: [] } as unknown as never)
	}
}

function flagFacts(command: typeof Command): FlagFacts[] {
	return Object.entries(command.flags ?? {}).map(([name, { char, aliases, env, hidden }]) => ({
		name,
		char,
		aliases,
		env,
		hidden,
	}))
}

function usageLine({ id, usage }: typeof Command): string | null {
	if (typeof usage !== 'string') return null
	return `kcli ${usage.replace('<%= command.id %>', id.replaceAll(':', ' '))}`
}
