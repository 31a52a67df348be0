import { describeShownCommands } from './testing/shown-commands.ts';

// What else it says is held by services/device-api/src/partner-document.test.ts.
describeShownCommands({ document: 'docs/device-api.md', minSteps: 30, limitMs: 120_000 });
