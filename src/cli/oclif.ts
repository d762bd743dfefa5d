/**
 * The parts of oclif that every command stands on, in one place. The bundle of commands (`scripts/bundle-commands.mjs`)
 * leaves out of them what only help and plugins need; help takes oclif from its package.
 */

export * as Args from '@oclif/core/args'
export { Command } from '@oclif/core/command'
export { Config } from '@oclif/core/config'
export * as Flags from '@oclif/core/flags'
