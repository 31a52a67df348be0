import { describeDocumentedCommands } from './testing/documented-commands.ts';

// What else it says is held by services/device-api/src/partner-document.test.ts.
describeDocumentedCommands({ document: 'docs/device-api.md', minSteps: 30, timeoutMs: 120_000 });
