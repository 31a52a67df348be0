import type { DeviceCommand, Outcome } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { campaignSize } from '../../../libs/service-kit/src/testing/campaign-size.ts';
import { propertySettings } from '../../../libs/service-kit/src/testing/property-settings.ts';
import { waitFor } from '../../../libs/service-kit/src/testing/server-process.ts';
import {
  type CameraAnswer,
  cameraAnswers,
  type Expected,
  outcomes,
  type Step,
  UploadModel,
  type Verdict,
} from './testing/upload-model.ts';
import { type Camera, control, remove, said, UploadWorld, uploadPath } from './testing/upload-world.ts';
import type { Answer, Client } from './testing/world.ts';

fc.configureGlobal(propertySettings);

const runs = campaignSize({ what: 'runs of two replicas', normal: 200, setting: 'UPLOAD_MODEL_RUNS' });
const atOnce = 5;
// Real servers on a machine that may be busy, and failing examples are shrunk.
jest.setTimeout(120_000 + runs * 2_000);

let uploads: UploadWorld;
let replicas: readonly [Client, Client];
type Replica = 0 | 1;
const other = (replica: Replica): Replica => (replica === 0 ? 1 : 0);
beforeAll(async () => {
  uploads = await UploadWorld.open();
  replicas = await Promise.all([uploads.service(), uploads.service()]);
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
  readonly camera: Camera;
  readonly ids = new Map<number, string>();
  readonly #answers: (CameraAnswer | Promise<CameraAnswer>)[] = [];

  constructor(camera: Camera) {
    this.camera = camera;
    camera.answer = (command) => this.#answerNext(command);
  }

  async #answerNext(command: DeviceCommand): Promise<Outcome> {
    const outcome = outcomes[(await this.#answers.shift()) ?? 'silent'];
    const serialNo = this.camera.frames.length;
    return typeof outcome === 'number' ? said(command, outcome, serialNo) : outcome;
  }

  /** Response of the camera to its next command. */
  willAnswer(answer: CameraAnswer | Promise<CameraAnswer>): void {
    this.#answers.push(answer);
  }

  async send(step: Step, replica: Replica): Promise<Answer | undefined> {
    const api = replicas[replica];
    const id = this.ids.get(step.clip) ?? unknownId;
    switch (step.kind) {
      case 'request':
        return this.#remember(step.clip, await api.get(uploadPath(this.camera.imei, clips[step.clip])));
      case 'control':
        return control(api, id, step.action);
      case 'delete':
        return this.#forget(step.clip, await remove(api, id));
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

  #remember(clip: number, answer: Answer): Answer {
    const { video_id: id } = answer.body as { video_id?: string };
    if (id === undefined) return answer;
    expect(this.ids.get(clip) ?? id).toBe(id);
    this.ids.set(clip, id);
    return answer;
  }

  #forget(clip: number, answer: Answer): Answer {
    if (answer.status === 200) this.ids.delete(clip);
    return answer;
  }

  /** Creates the state of a process that died while it waited for the camera, and whose time is over. */
  async #crash(clip: number): Promise<undefined> {
    if (this.ids.has(clip)) return;
    const { imei } = this.camera;
    const startMs = Date.parse(`2026-08-01T0${clips[clip]?.clip}:00:00Z`);
    await uploads.leaveReservation(imei, clips[clip]?.channel ?? 0, startMs);
  }

  /** Returns the status of every upload in the API. */
  async shown(replica: Replica): Promise<Map<string, string>> {
    const { body } = await replicas[replica].get(`/videos/list?imei=${this.camera.imei}`);
    const { videos } = body as { videos: { video_id: string; status: string }[] };
    return new Map(videos.map(({ video_id: id, status }) => [id, status]));
  }
}

function check(step: Step, answer: Answer | undefined, expected: Expected | undefined): void {
  if (answer === undefined || expected === undefined) return expect(answer).toBe(expected);
  const body = answer.body as { status: string | number; result?: string };
  expect([step, answer.status, body]).toEqual([step, expected.status, expect.anything()]);
  if (expected.says !== undefined) expect(step.kind === 'request' ? body.result : body.status).toBe(expected.says);
  else expect(body).toEqual({ status: expected.status, error: expect.any(String) });
}

/** Model and system must agree in every status, and the camera must have received exactly the expected commands. */
async function agree(model: UploadModel, system: System, replica: Replica): Promise<void> {
  const expected = [...model.status].map(([clip, status]) => [system.ids.get(clip), status] as const);
  expect(await system.shown(replica)).toEqual(new Map(expected));
  const heard = system.camera.frames.map((frame) =>
    frame.kind === 'controlUpload' ? `control ${frame.control}` : 'request',
  );
  expect(heard).toEqual(model.frames);
}

/** One step after another. */
class Alone implements fc.AsyncCommand<UploadModel, System> {
  readonly step: Step;
  readonly answer: CameraAnswer;
  readonly replica: Replica;
  constructor(step: Step, answer: CameraAnswer, replica: Replica) {
    this.step = step;
    this.answer = answer;
    this.replica = replica;
  }
  check = () => true;
  async run(model: UploadModel, system: System): Promise<void> {
    await perform(model.begin(this.step), this.step, this.answer, this.replica, system);
    await agree(model, system, other(this.replica));
  }
  toString = () => `${JSON.stringify(this.step)}, the camera ${this.answer}`;
}

async function perform(verdict: Verdict, step: Step, answer: CameraAnswer, replica: Replica, system: System) {
  if (verdict.when === 'answered') system.willAnswer(answer);
  const got = await system.send(step, replica);
  check(step, got, settled(verdict, answer));
}

function settled(verdict: Verdict, answer: CameraAnswer): Expected | undefined {
  if (verdict.when === 'other') throw new Error('nothing else is under way');
  return verdict.when === 'now' ? verdict.expected : verdict.finish(answer);
}

/** A step that waits for the camera, and another one at the other replica in that time. */
class Overlapping implements fc.AsyncCommand<UploadModel, System> {
  readonly first: Alone;
  readonly second: Alone;
  constructor(first: Alone, second: Alone) {
    this.first = first;
    this.second = second;
  }
  check = () => true;
  toString = () => `[${this.first.toString()} | meanwhile ${this.second.toString()}]`;

  async run(model: UploadModel, system: System): Promise<void> {
    const { first, second } = this;
    const verdict = model.begin(first.step);
    if (verdict.when !== 'answered') {
      await perform(verdict, first.step, first.answer, first.replica, system);
      return second.run(model, system);
    }
    let release: (answer: CameraAnswer) => void = () => undefined;
    system.willAnswer(new Promise<CameraAnswer>((resolve) => (release = resolve)));
    const heard = system.camera.frames.length;
    const firstAnswer = system.send(first.step, first.replica);
    await waitFor(() => system.camera.frames.length > heard);
    const meanwhile = model.begin(second.step);
    if (meanwhile.when !== 'other') {
      await perform(meanwhile, second.step, second.answer, other(first.replica), system);
      release(first.answer);
      check(first.step, await firstAnswer, verdict.finish(first.answer));
    } else {
      const { imei } = system.camera;
      const letIn = await uploads.world.commandsLetIn(imei);
      const secondAnswer = system.send(second.step, other(first.replica));
      await uploads.letIn(imei, letIn + 1);
      const expected = verdict.finish(first.answer);
      const last = meanwhile.after(expected);
      if (last.when === 'answered') system.willAnswer(second.answer);
      release(first.answer);
      check(first.step, await firstAnswer, expected);
      check(second.step, await secondAnswer, settled(last, second.answer));
    }
    await agree(model, system, second.replica);
  }
}

// Mostly one clip: two steps must meet to be a race.
const clip = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.nat({ max: clips.length - 1 }) },
);
const stepOf: Record<Step['kind'], fc.Arbitrary<Step>> = {
  request: fc.record({ kind: fc.constant('request'), clip }),
  control: fc.record({ kind: fc.constant('control'), clip, action: fc.nat({ max: 2 }) }),
  delete: fc.record({ kind: fc.constant('delete'), clip }),
  settle: fc.record({ kind: fc.constant('settle'), clip, to: fc.constantFrom('completed', 'failed') }),
  crash: fc.record({ kind: fc.constant('crash'), clip }),
};
const step = fc.oneof(
  { weight: 4, arbitrary: stepOf.request },
  { weight: 8, arbitrary: stepOf.control },
  { weight: 2, arbitrary: stepOf.delete },
  { weight: 1, arbitrary: stepOf.settle },
  { weight: 1, arbitrary: stepOf.crash },
);
const answer = fc.oneof(
  { weight: 5, arbitrary: fc.constant<CameraAnswer>('accepts') },
  { weight: 3, arbitrary: fc.constantFrom(...cameraAnswers) },
);
const alone = (steps: fc.Arbitrary<Step>) =>
  fc.tuple(steps, answer, fc.constantFrom<Replica[]>(0, 1)).map((parts) => new Alone(...parts));
const pair = (first: fc.Arbitrary<Step>, second: fc.Arbitrary<Step>) =>
  fc.tuple(alone(first), alone(second)).map((parts) => new Overlapping(...parts));
const commands = fc.commands(
  [
    alone(step),
    alone(stepOf.request),
    pair(step, step),
    pair(stepOf.request, stepOf.request),
    pair(stepOf.control, stepOf.control),
  ],
  { maxCommands: 14, size: 'max' },
);

describe('the table of upload states', () => {
  it(`describes two replicas with late, lost and refused responses (${runs} runs)`, async () => {
    const agrees = fc.asyncProperty(commands, async (run) => {
      const camera = await uploads.camera();
      await fc.asyncModelRun(() => ({ model: new UploadModel(), real: new System(camera) }), run);
      await uploads.forget(camera.imei);
    });
    // Cameras are independent of one another, and a run mostly waits.
    const numRuns = Math.ceil(runs / atOnce);
    const reports = await Promise.all(Array.from({ length: atOnce }, () => fc.check(agrees, { numRuns })));
    const faults = await Promise.all(reports.map((report) => fc.asyncDefaultReportMessage(report)));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });
});
