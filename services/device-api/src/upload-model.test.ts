import type { DeviceCommand, Outcome } from '@fleet/bus';
import { campaignSize, propertySettings, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { ApiClient, ApiResponse } from './testing/harness.ts';
import {
  controlClip,
  createCameraOutcome,
  deleteClip,
  type FakeCamera,
  UploadHarness,
  uploadPath,
} from './testing/upload-harness.ts';
import {
  type CameraBehaviour,
  cameraBehaviours,
  type Expectation,
  type ExpectedResponse,
  outcomes,
  type Step,
  UploadModel,
} from './testing/upload-model.ts';

fc.configureGlobal(propertySettings);

const runs = campaignSize({ what: 'runs of two replicas', normal: 200, setting: 'UPLOAD_MODEL_RUNS' });
const concurrency = 5;
// Real servers on a machine that may be busy, and failing examples are shrunk.
jest.setTimeout(120_000 + runs * 2_000);

let uploads: UploadHarness;
let replicas: readonly [ApiClient, ApiClient];
type Replica = 0 | 1;
const other = (replica: Replica): Replica => (replica === 0 ? 1 : 0);
beforeAll(async () => {
  uploads = await UploadHarness.open();
  replicas = await Promise.all([uploads.startService(), uploads.startService()]);
});
afterAll(() => uploads.close());

const unknownId = '0123456789abcdef01234567';
const clips = [
  { channel: 1, clip: 1 },
  { channel: 1, clip: 2 },
  { channel: 2, clip: 1 },
];

/** One camera and the two replicas, driven like the model. */
class System {
  readonly camera: FakeCamera;
  readonly ids = new Map<number, string>();
  readonly #behaviours: (CameraBehaviour | Promise<CameraBehaviour>)[] = [];

  constructor(camera: FakeCamera) {
    this.camera = camera;
    camera.respond = (command) => this.#respondNext(command);
  }

  async #respondNext(command: DeviceCommand): Promise<Outcome> {
    const outcome = outcomes[(await this.#behaviours.shift()) ?? 'silent'];
    const serialNo = this.camera.frames.length;
    return typeof outcome === 'number' ? createCameraOutcome(command, outcome, serialNo) : outcome;
  }

  /** Response of the camera to its next command. */
  setNextBehaviour(behaviour: CameraBehaviour | Promise<CameraBehaviour>): void {
    this.#behaviours.push(behaviour);
  }

  async send(step: Step, replica: Replica): Promise<ApiResponse | undefined> {
    const api = replicas[replica];
    const id = this.ids.get(step.clip) ?? unknownId;
    switch (step.kind) {
      case 'request':
        return this.#addId(step.clip, await api.get(uploadPath(this.camera.imei, clips[step.clip])));
      case 'control':
        return controlClip(api, id, step.action);
      case 'delete':
        return this.#deleteId(step.clip, await deleteClip(api, id));
      case 'settle': {
        const from = step.to === 'failed' ? (['uploading', 'paused'] as const) : (['uploading'] as const);
        await uploads.records.transition(id, from, step.to);
        await uploads.records.unlockCamera(this.camera.imei, id);
        return undefined;
      }
      case 'crash':
        return this.#crash(step.clip);
    }
  }

  #addId(clip: number, response: ApiResponse): ApiResponse {
    const { video_id: id } = response.body as { video_id?: string };
    if (id === undefined) return response;
    expect(this.ids.get(clip) ?? id).toBe(id);
    this.ids.set(clip, id);
    return response;
  }

  #deleteId(clip: number, response: ApiResponse): ApiResponse {
    if (response.status === 200) this.ids.delete(clip);
    return response;
  }

  /** Creates the state of a process that died while it waited for the camera, and whose time is over. */
  async #crash(clip: number): Promise<undefined> {
    if (this.ids.has(clip)) return;
    const { imei } = this.camera;
    const startMs = Date.parse(`2026-08-01T0${clips[clip]?.clip}:00:00Z`);
    await uploads.createStaleReservation(imei, clips[clip]?.channel ?? 0, startMs);
  }

  /** Returns the status of every upload in the API. */
  async listStatuses(replica: Replica): Promise<Map<string, string>> {
    const { body } = await replicas[replica].get(`/videos/list?imei=${this.camera.imei}`);
    const { videos } = body as { videos: { video_id: string; status: string }[] };
    return new Map(videos.map(({ video_id: id, status }) => [id, status]));
  }
}

function expectResponse(step: Step, response: ApiResponse | undefined, expected: ExpectedResponse | undefined): void {
  if (response === undefined || expected === undefined) return expect(response).toBe(expected);
  const body = response.body as { status: string | number; result?: string };
  expect([step, response.status, body]).toEqual([step, expected.status, expect.anything()]);
  if (expected.value !== undefined) expect(step.kind === 'request' ? body.result : body.status).toBe(expected.value);
  else expect(body).toEqual({ status: expected.status, error: expect.any(String) });
}

/** Model and system must agree in every status, and the camera must have received exactly the expected commands. */
async function expectAgreement(model: UploadModel, system: System, replica: Replica): Promise<void> {
  const expected = [...model.status].map(([clip, status]) => [system.ids.get(clip), status] as const);
  expect(await system.listStatuses(replica)).toEqual(new Map(expected));
  const receivedFrames = system.camera.frames.map((frame) =>
    frame.kind === 'controlUpload' ? `control ${frame.control}` : 'request',
  );
  expect(receivedFrames).toEqual(model.frames);
}

/** One step after another. */
class SingleStep implements fc.AsyncCommand<UploadModel, System> {
  readonly step: Step;
  readonly behaviour: CameraBehaviour;
  readonly replica: Replica;
  constructor(step: Step, behaviour: CameraBehaviour, replica: Replica) {
    this.step = step;
    this.behaviour = behaviour;
    this.replica = replica;
  }
  check = () => true;
  async run(model: UploadModel, system: System): Promise<void> {
    await perform(model.apply(this.step), this.step, this.behaviour, this.replica, system);
    await expectAgreement(model, system, other(this.replica));
  }
  toString = () => `${JSON.stringify(this.step)}, the camera ${this.behaviour}`;
}

async function perform(
  expectation: Expectation,
  step: Step,
  behaviour: CameraBehaviour,
  replica: Replica,
  system: System,
) {
  if (expectation.when === 'answered') system.setNextBehaviour(behaviour);
  const got = await system.send(step, replica);
  expectResponse(step, got, resolveExpectation(expectation, behaviour));
}

function resolveExpectation(expectation: Expectation, behaviour: CameraBehaviour): ExpectedResponse | undefined {
  if (expectation.when === 'other') throw new Error('no other step is in progress');
  return expectation.when === 'now' ? expectation.expected : expectation.finish(behaviour);
}

/** A step that waits for the camera, and another one at the other replica during that wait. */
class OverlappingSteps implements fc.AsyncCommand<UploadModel, System> {
  readonly first: SingleStep;
  readonly second: SingleStep;
  constructor(first: SingleStep, second: SingleStep) {
    this.first = first;
    this.second = second;
  }
  check = () => true;
  toString = () => `[${this.first.toString()} | concurrently ${this.second.toString()}]`;

  async run(model: UploadModel, system: System): Promise<void> {
    const { first, second } = this;
    const expectation = model.apply(first.step);
    if (expectation.when !== 'answered') {
      await perform(expectation, first.step, first.behaviour, first.replica, system);
      return second.run(model, system);
    }
    let release: (behaviour: CameraBehaviour) => void = () => undefined;
    system.setNextBehaviour(new Promise<CameraBehaviour>((resolve) => (release = resolve)));
    const framesBefore = system.camera.frames.length;
    const firstResponse = system.send(first.step, first.replica);
    await waitFor(() => system.camera.frames.length > framesBefore);
    const secondExpectation = model.apply(second.step);
    if (secondExpectation.when !== 'other') {
      await perform(secondExpectation, second.step, second.behaviour, other(first.replica), system);
      release(first.behaviour);
      expectResponse(first.step, await firstResponse, expectation.finish(first.behaviour));
    } else {
      const { imei } = system.camera;
      const admittedBefore = await uploads.harness.countAdmitted(imei);
      const secondResponse = system.send(second.step, other(first.replica));
      await uploads.waitUntilAdmitted(imei, admittedBefore + 1);
      const expected = expectation.finish(first.behaviour);
      const last = secondExpectation.after(expected);
      if (last.when === 'answered') system.setNextBehaviour(second.behaviour);
      release(first.behaviour);
      expectResponse(first.step, await firstResponse, expected);
      expectResponse(second.step, await secondResponse, resolveExpectation(last, second.behaviour));
    }
    await expectAgreement(model, system, second.replica);
  }
}

// Mostly one clip: two steps must meet to be a race.
const clip = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.nat({ max: clips.length - 1 }) },
);
const stepArbitraries: Record<Step['kind'], fc.Arbitrary<Step>> = {
  request: fc.record({ kind: fc.constant('request'), clip }),
  control: fc.record({ kind: fc.constant('control'), clip, action: fc.nat({ max: 2 }) }),
  delete: fc.record({ kind: fc.constant('delete'), clip }),
  settle: fc.record({ kind: fc.constant('settle'), clip, to: fc.constantFrom('completed', 'failed') }),
  crash: fc.record({ kind: fc.constant('crash'), clip }),
};
const step = fc.oneof(
  { weight: 4, arbitrary: stepArbitraries.request },
  { weight: 8, arbitrary: stepArbitraries.control },
  { weight: 2, arbitrary: stepArbitraries.delete },
  { weight: 1, arbitrary: stepArbitraries.settle },
  { weight: 1, arbitrary: stepArbitraries.crash },
);
const behaviourArbitrary = fc.oneof(
  { weight: 5, arbitrary: fc.constant<CameraBehaviour>('accepts') },
  { weight: 3, arbitrary: fc.constantFrom(...cameraBehaviours) },
);
const alone = (steps: fc.Arbitrary<Step>) =>
  fc.tuple(steps, behaviourArbitrary, fc.constantFrom<Replica[]>(0, 1)).map((parts) => new SingleStep(...parts));
const pair = (first: fc.Arbitrary<Step>, second: fc.Arbitrary<Step>) =>
  fc.tuple(alone(first), alone(second)).map((parts) => new OverlappingSteps(...parts));
const commands = fc.commands(
  [
    alone(step),
    alone(stepArbitraries.request),
    pair(step, step),
    pair(stepArbitraries.request, stepArbitraries.request),
    pair(stepArbitraries.control, stepArbitraries.control),
  ],
  { maxCommands: 14, size: 'max' },
);

describe('the table of upload states', () => {
  it(`describes two replicas with late, lost and refused responses (${runs} runs)`, async () => {
    const agrees = fc.asyncProperty(commands, async (run) => {
      const camera = await uploads.connectCamera();
      await fc.asyncModelRun(() => ({ model: new UploadModel(), real: new System(camera) }), run);
      await uploads.deleteRecords(camera.imei);
    });
    // Cameras are independent of one another, and a run mostly waits.
    const numRuns = Math.ceil(runs / concurrency);
    const reports = await Promise.all(Array.from({ length: concurrency }, () => fc.check(agrees, { numRuns })));
    const faults = await Promise.all(reports.map((report) => fc.asyncDefaultReportMessage(report)));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });
});
