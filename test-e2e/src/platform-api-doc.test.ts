import { describeShownCommands } from './testing/shown-commands.ts';

describeShownCommands({ document: 'docs/platform-api.md', minSteps: 40, limitMs: 150_000 });
