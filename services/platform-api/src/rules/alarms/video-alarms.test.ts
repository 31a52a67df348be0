import { additionalItemDefinitions, createAdditionalItem } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { reportOf, run, summarize } from '../../testing/alarm-rule-harness.ts';
import { currentAlarms } from './current-alarms.ts';
import { terminalAlarms } from './terminal-alarms.ts';

const mask = (...bits: readonly number[]) => bits.reduce((word, bit) => (word | (1 << bit)) >>> 0, 0);
const video = (...bits: readonly number[]) =>
  createAdditionalItem(additionalItemDefinitions.videoAlarm, { videoAlarm: mask(...bits) });
const lost = (...bits: readonly number[]) =>
  createAdditionalItem(additionalItemDefinitions.videoLoss, { videoLossChannels: mask(...bits) });
const covered = (...bits: readonly number[]) =>
  createAdditionalItem(additionalItemDefinitions.videoCover, { videoCoverChannels: mask(...bits) });
const storage = (...bits: readonly number[]) =>
  createAdditionalItem(additionalItemDefinitions.storageFailure, { storageFailure: mask(...bits) });

describe('video alarms (items 0x14 to 0x18, JT/T 1078-2016 tables 13 and 14)', () => {
  it.each([
    [0, 'video_signal_loss'],
    [1, 'video_obstructed'],
    [2, 'storage_fault'],
    [3, 'video_device_fault'],
    [4, 'passenger_overload'],
    [5, 'abnormal_driving'],
    [6, 'alarm_storage_full'],
  ])('bit %i is %s', (bit, type) => {
    expect(summarize(run(terminalAlarms, [{ at: 0, extras: [video(bit)] }]))).toEqual([`0 ${type}`]);
    expect(currentAlarms(reportOf({ at: 0, extras: [video(bit)] }))).toEqual([type]);
  });

  it('a reserved bit is unknown, and recorded', () => {
    const outcomes = run(terminalAlarms, [{ at: 0, extras: [video(9, 31)] }]);
    expect(summarize(outcomes)).toEqual(['0 unknown_alarm video:9', '0 unknown_alarm video:31']);
    expect(outcomes[0]?.findings[0]?.attributes).toEqual({ item: '0x14', bit: 9 });
  });

  it('is one for each channel', () => {
    const outcomes = run(terminalAlarms, [
      { at: 0, extras: [video(0, 1), lost(0, 31), covered(2)] },
      { at: 10, extras: [video(0, 1), lost(0, 1, 31), covered(2)] },
    ]);
    expect(summarize(outcomes)).toEqual([
      '0 video_signal_loss channel:1',
      '0 video_signal_loss channel:32',
      '0 video_obstructed channel:3',
      '10 video_signal_loss channel:2',
    ]);
    expect(outcomes[0]?.findings.map(({ attributes }) => attributes)).toEqual([
      { channels: [1] },
      { channels: [32] },
      { channels: [3] },
    ]);
  });

  it('clears for one channel while another is active', () => {
    const outcomes = run(terminalAlarms, [
      { at: 0, extras: [video(0), lost(0, 1)] },
      { at: 100, extras: [video(0), lost(1)] },
      { at: 200, extras: [video(0), lost(0, 1)] },
    ]);
    expect(summarize(outcomes)).toEqual([
      '0 video_signal_loss channel:1',
      '0 video_signal_loss channel:2',
      '200 video_signal_loss channel:1',
    ]);
  });

  it('is one for each storage unit, main and backup', () => {
    const outcomes = run(terminalAlarms, [{ at: 0, extras: [video(2), storage(0, 11, 12, 15)] }]);
    expect(summarize(outcomes)).toEqual([
      '0 storage_fault main:1',
      '0 storage_fault main:12',
      '0 storage_fault backup:1',
      '0 storage_fault backup:4',
    ]);
    expect(outcomes[0]?.findings[2]?.attributes).toEqual({ storage: { kind: 'backup', number: 1 } });
  });

  it('is active by its detail alone if the terminal omits item 0x14', () => {
    expect(summarize(run(terminalAlarms, [{ at: 0, extras: [covered(0)] }]))).toEqual(['0 video_obstructed channel:1']);
    expect(currentAlarms(reportOf({ at: 0, extras: [lost(1)] }))).toEqual(['video_signal_loss']);
  });

  it.each([
    [
      'with its level',
      { behaviourType: mask(0, 2, 11), fatigueLevel: 60 },
      { behaviours: ['fatigue', 'smoking', 'custom_11'], fatigue: 60 },
    ],
    ['without a level', { behaviourType: mask(1), fatigueLevel: undefined }, { behaviours: ['phone'] }],
  ])('abnormal driving has the behaviour, %s', (_case, item, attributes) => {
    const extras = [video(5), createAdditionalItem(additionalItemDefinitions.abnormalDriving, item)];
    const outcomes = run(terminalAlarms, [{ at: 0, extras }]);
    expect(outcomes[0]?.findings[0]).toMatchObject({ type: 'abnormal_driving', subject: '', attributes });
  });

  it('items with detail but no alarm are ignored', () => {
    expect(summarize(run(terminalAlarms, [{ at: 0, extras: [video(), lost(), covered(), storage()] }]))).toEqual([]);
  });
});
