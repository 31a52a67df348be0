import { Button, Group } from '@mantine/core';
import { useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useDownloads } from '../../../common/downloads/queries.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { TrackMap } from '../../../common/map/track-map.tsx';
import { useIsLeaving } from '../../../common/navigation/use-is-leaving.ts';
import { useCan } from '../../../common/session/session-context.ts';
import type { Lane } from '../../../common/timeline/lanes.ts';
import { type Playhead, useCreatePlayhead, usePlayhead } from '../../../common/timeline/playhead.ts';
import { TimeBar } from '../../../common/timeline/time-bar.tsx';
import { formatClockTime, type TimeSpan } from '../../../common/timeline/time-scale.ts';
import { toSeverity } from '../../../common/ui/marks.tsx';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { findClipsOfDay, toChannelLanes, toChannels } from '../clips.ts';
import { type Fix, findFix, longestGapMs, type Stop, toStateSegments, toStopMarks, toStops } from '../model.ts';
import {
  type EventRecord,
  type StopRecord,
  type Trip,
  useDayEvents,
  useFixes,
  useRecordings,
  useTrips,
} from '../queries.ts';
import { ClipPanel } from './clip-panel.tsx';
import { DayHeader } from './day-header.tsx';
import { DayLists } from './day-lists.tsx';
import { Transport } from './transport.tsx';
import { useReplayKeys } from './use-replay-keys.ts';
import { VideoPane } from './video-pane.tsx';

interface DayReplayProps {
  readonly vehicle: Vehicle;
  readonly date: string;
  readonly day: TimeSpan;
  /** Time in the address; null: the first movement. */
  readonly initialMs: number | null;
  /** Camera in the address; undefined: the first one. */
  readonly channelId: number | undefined;
  readonly onChannel: (channelId: number) => void;
  readonly onDate: (date: string) => void;
  /** Called when the playhead rests. */
  readonly onTime: (timeMs: number) => void;
}

// One playhead drives map, video, chart and lists.
export function DayReplay({ vehicle, date, day, initialMs, channelId, onChannel, onDate, onTime }: DayReplayProps) {
  const { t } = useTranslation('day');
  const fixes = useFixes(vehicle.id, day);
  const drives = useTrips(vehicle.id, day);
  const { trips, stops } = drives.data ?? noDrives;
  const events = useDayEvents(vehicle.id, day);
  const playhead = useCreatePlayhead(day, initialMs ?? day.fromMs);
  const data = useDayData(vehicle, day, { fixes: fixes.data ?? none, trips, stops, events: events.data ?? none });
  const [hasLists, setHasLists] = useState(false);
  const video = useVideo(vehicle, day, channelId);
  const lanes = useMemo(() => [...data.lanes, ...video.lanes], [data.lanes, video.lanes]);
  const [selection, setSelection] = useState<TimeSpan | null>(null);
  const [isSelecting, setIsSelecting] = useState(false);
  useReplayKeys(playhead);
  useTimeInAddress(playhead, onTime);
  useStartAtFirstTrip(playhead, initialMs, trips[0]?.started_at);
  const failed = [fixes, events, drives].find(({ isError }) => isError);
  const seek = (timeMs: number): void => playhead.seek(timeMs);
  return (
    <>
      <DayHeader vehicle={vehicle} date={date} day={day} trips={trips} onDate={onDate} onSeek={seek} />
      {failed === undefined ? null : <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      <div className="day-views">
        <ReplayMap vehicle={vehicle} playhead={playhead} data={data} />
        {video.isPermitted ? (
          <VideoPane {...video} vehicle={vehicle} playhead={playhead} onChannel={onChannel} />
        ) : null}
      </div>
      <Group justify="space-between" gap="sm">
        <Transport playhead={playhead} jumps={data.jumps}>
          <Clock playhead={playhead} fixes={data.fixes} timeZone={vehicle.timezone} />
        </Transport>
        <Button size="xs" variant="default" aria-pressed={hasLists} onClick={() => setHasLists(!hasLists)}>
          {t('showAsList')}
        </Button>
      </Group>
      {fixes.isPending ? <Loading /> : null}
      {fixes.isSuccess && fixes.data.length === 0 ? <p className="day-empty">{t('noReports')}</p> : null}
      <TimeBar
        label={t('timeBar')}
        day={day}
        timeZone={vehicle.timezone}
        playhead={playhead}
        lanes={lanes}
        selection={selection}
        isSelecting={isSelecting}
        onSelect={setSelection}
        describe={useDescribe(data, vehicle.timezone)}
      />
      {video.isPermitted ? (
        <ClipPanel
          {...video}
          vehicle={vehicle}
          playhead={playhead}
          selection={selection}
          isSelecting={isSelecting}
          onSelecting={setIsSelecting}
          onSelect={setSelection}
          onChannel={onChannel}
        />
      ) : null}
      {hasLists ? <DayLists timeZone={vehicle.timezone} {...data} onSeek={seek} /> : null}
    </>
  );
}

const none: readonly never[] = [];
const noDrives = { trips: none, stops: none };

/** The newest requests; older clips of the day are on the media page. */
const maxClips = 200;

/** Returns the cameras, the clips of the day and their lanes. */
function useVideo(vehicle: Vehicle, day: TimeSpan, chosenId: number | undefined) {
  const { t } = useTranslation('day');
  const isPermitted = useCan()('video');
  const downloads = useDownloads({ vehicle: vehicle.id }, maxClips, isPermitted);
  const { recordings, refresh } = useRecordings(vehicle.id, day, isPermitted);
  const video = useMemo(() => {
    const channels = toChannels(vehicle);
    const clips = findClipsOfDay(downloads.data?.data ?? none, day);
    const channelId = channels.find(({ id }) => id === chosenId)?.id ?? channels[0]?.id ?? 1;
    const lanes = isPermitted ? toChannelLanes(channels, clips, recordings, (name) => t('cameraName', { name })) : none;
    return { channels, channelId, clips, lanes, isPermitted };
  }, [vehicle, day, chosenId, downloads.data, recordings, isPermitted, t]);
  return { ...video, recordings, refresh };
}

interface DayData {
  readonly fixes: readonly Fix[];
  readonly events: readonly EventRecord[];
  readonly stops: readonly Stop[];
  readonly states: ReturnType<typeof toStateSegments>;
  readonly lanes: readonly Lane[];
  readonly jumps: readonly number[];
}

/** What the server has recorded of a day. */
interface DayRecords {
  readonly fixes: readonly Fix[];
  readonly trips: readonly Trip[];
  readonly stops: readonly StopRecord[];
  readonly events: readonly EventRecord[];
}

/** Returns what the lanes, the map and the lists show. */
function useDayData(vehicle: Vehicle, day: TimeSpan, { fixes, trips, stops, events }: DayRecords): DayData {
  const { t } = useTranslation('day');
  return useMemo(() => {
    const nowMs = Date.now();
    const states = toStateSegments(fixes, day, nowMs);
    const points = fixes.map(({ timestamp, speed }) => ({ timeMs: timestamp, value: speed }));
    const marks = events.map(({ timestamp, severity }) => ({ timeMs: timestamp, severity: toSeverity(severity) }));
    const starts = trips.map((trip) => Date.parse(trip.started_at));
    return {
      fixes,
      events,
      states,
      stops: toStops(stops, Math.min(nowMs, day.toMs)),
      lanes: [
        { kind: 'chart', name: t('lane.speed'), points, limit: vehicle.speed_limit_kmh },
        { kind: 'segments', name: t('lane.state'), segments: states },
        { kind: 'marks', name: t('lane.events'), marks },
      ],
      jumps: [...starts, ...events.map(({ timestamp }) => timestamp)].toSorted((a, b) => a - b),
    };
  }, [vehicle, day, fixes, trips, stops, events, t]);
}

function ReplayMap({ vehicle, playhead, data }: { vehicle: Vehicle; playhead: Playhead; data: DayData }) {
  const { timeMs } = usePlayhead(playhead);
  const fix = findFix(data.fixes, timeMs);
  const points = useMemo(
    () =>
      data.fixes
        .filter((one) => one.gps_valid)
        .map(({ timestamp, latitude, longitude, speed }) => ({ timeMs: timestamp, latitude, longitude, speed })),
    [data.fixes],
  );
  const marks = useMemo(
    () => [
      ...toStopMarks(data.stops),
      ...data.events
        .filter(({ location }) => location.latitude !== 0 || location.longitude !== 0)
        .map(({ id, severity, timestamp, location }) => {
          const kind = toSeverity(severity);
          return { id: `event-${id}`, kind, timeMs: timestamp, label: '', ...location };
        }),
    ],
    [data.stops, data.events],
  );
  const vehicleAtPlayhead = useMemo(
    () => (fix === undefined ? null : { ...fix, id: vehicle.id, label: vehicle.vehicle_no }),
    [fix, vehicle],
  );
  return (
    <div className="day-map">
      <TrackMap points={points} marks={marks} vehicle={vehicleAtPlayhead} onSeek={(to) => playhead.seek(to)} />
    </div>
  );
}

function Clock({ playhead, fixes, timeZone }: { playhead: Playhead; fixes: readonly Fix[]; timeZone: string }) {
  const format = useFormat();
  const { timeMs } = usePlayhead(playhead);
  const fix = findFix(fixes, timeMs);
  const isKnown = fix !== undefined && timeMs - fix.timestamp <= longestGapMs;
  return (
    <>
      {formatClockTime(timeMs, timeZone)} {isKnown ? format.speed(fix.speed) : ''}
    </>
  );
}

/** Events count as present this long before and after. */
const nearEventMs = 5_000;

/** Returns a function that says what happened at a time: "11:42:10, 92 km/h, moving, overspeed". */
function useDescribe({ fixes, events }: DayData, timeZone: string): (timeMs: number) => string {
  const { t } = useTranslation('day');
  const format = useFormat();
  return (timeMs) => {
    const fix = findFix(fixes, timeMs);
    const isKnown = fix !== undefined && timeMs - fix.timestamp <= longestGapMs;
    const facts = isKnown ? [format.speed(fix.speed), t(`common:state.${fix.state}`)] : [t('noReport')];
    const near = events.filter(({ timestamp }) => Math.abs(timestamp - timeMs) <= nearEventMs);
    return [formatClockTime(timeMs, timeZone), ...facts, ...near.map(({ title }) => title)].join(', ');
  };
}

// A day without a time in its address starts at its first trip.
function useStartAtFirstTrip(playhead: Playhead, initialMs: number | null, startedAt: string | undefined): void {
  useEffect(() => {
    if (initialMs === null && startedAt !== undefined && playhead.state.seeks === 0 && !playhead.state.isPlaying)
      playhead.seek(Date.parse(startedAt));
    // Only the first list of trips counts.
  }, [startedAt]);
}

const restMs = 500;

/** Writes the time into the address when the playhead rests after a seek or a pause. */
function useTimeInAddress(playhead: Playhead, onTime: (timeMs: number) => void): void {
  const { seeks, isPlaying } = usePlayhead(playhead);
  const isLeaving = useIsLeaving();
  useEffect(() => {
    if (seeks === 0 || isPlaying) return undefined;
    const timer = setTimeout(() => {
      if (!isLeaving()) onTime(playhead.state.timeMs);
    }, restMs);
    return () => clearTimeout(timer);
    // `onTime` changes with every rendering.
  }, [seeks, isPlaying, playhead]);
}
