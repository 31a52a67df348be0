import { Button, SegmentedControl } from '@mantine/core';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSingleKeys } from '../../common/commands/use-single-keys.ts';
import { useVehicles } from '../../common/fleet/queries.ts';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { VideoTile } from '../../common/video/tile.tsx';
import { CameraList } from './parts/camera-list.tsx';
import { DataMeter } from './parts/data-meter.tsx';
import { WallMenu } from './parts/wall-menu.tsx';
import { type Camera, formatCamera, type Layout, layouts } from './search.ts';
import { isSameCamera, useWall } from './use-wall.ts';
import { useWalls } from './walls.ts';
import './video.css';

/**
 * Shows a wall of 1, 4, 9 or 16 cameras: sub streams in the grid, the main stream in a large tile, one tile with sound.
 */
export function VideoPage() {
  const { t } = useTranslation('video');
  const can = useCan();
  const vehicles = useVehicles();
  const { walls, isLoaded } = useWalls();
  const wall = useWall(walls);
  const receivedBytes = useRef(0);
  if (!can('video')) return <NoPermission />;
  if (vehicles.isPending || !isLoaded) return <Loading />;
  if (vehicles.isError) return <Failure error={vehicles.error} onRetry={() => void vehicles.refetch()} />;
  const vehicleIds = [...new Set(wall.cameras.flatMap((camera) => (camera === null ? [] : [camera.vehicleId])))];
  return (
    <div className="video-page">
      <h1 className="visually-hidden">{t('title')}</h1>
      <div className="video-bar">
        <WallMenu wall={wall} />
        <LayoutControl layout={wall.layout} onLayout={wall.setLayout} />
        <DataMeter vehicleIds={vehicleIds} receivedBytes={receivedBytes} />
        <Button size="xs" variant="default" onClick={wall.clear}>
          {t('stopAll')}
        </Button>
      </div>
      <Tiles
        wall={wall}
        vehicles={vehicles.data}
        onData={(sizeBytes) => {
          receivedBytes.current += sizeBytes;
        }}
      />
      <CameraList
        vehicles={vehicles.data}
        isVisible={(camera) => wall.cameras.some((visible) => isSameCamera(visible, camera))}
        onToggle={wall.toggle}
      />
    </div>
  );
}

/** Chooses the number of tiles; the keys 1 to 4 choose one too. */
function LayoutControl({ layout, onLayout }: { layout: Layout; onLayout: (layout: Layout) => void }) {
  const { t } = useTranslation('video');
  useSingleKeys(Object.fromEntries(layouts.map((each, index) => [String(index + 1), () => onLayout(each)])));
  return (
    <SegmentedControl
      size="xs"
      aria-label={t('layout')}
      value={String(layout)}
      data={layouts.map(String)}
      onChange={(value) => onLayout(Number(value) as Layout)}
    />
  );
}

interface TilesProps {
  readonly wall: ReturnType<typeof useWall>;
  readonly vehicles: readonly Vehicle[];
  readonly onData: (sizeBytes: number) => void;
}

function Tiles({ wall, vehicles, onData }: TilesProps) {
  const { t } = useTranslation('video');
  const mayCapture = useCan()('commands');
  const [audible, setAudible] = useState<string | null>(null);
  const { focused, layout } = wall;
  return (
    <div className="video-wall" data-layout={layout} data-has-focus={focused !== null}>
      {wall.cameras.map((camera, index) => {
        if (camera === null)
          return (
            // Tiles are positions: the index is their identity.
            <div className="tile" key={`empty-${index}`}>
              <Empty title={t('emptyTile')} />
            </div>
          );
        const name = formatCamera(camera);
        const isFocused = focused !== null && isSameCamera(focused, camera);
        return (
          <VideoTile
            key={name}
            {...camera}
            title={titleOf(vehicles, camera)}
            streamType={isFocused || layout === 1 ? 'HIGH' : 'LOW'}
            isMuted={audible !== name}
            isFocused={isFocused}
            mayCapture={mayCapture}
            onMute={(isMuted) => setAudible(isMuted ? null : name)}
            onClose={() => wall.remove(camera)}
            onData={onData}
            {...(layout === 1 ? {} : { onFocus: (isWanted: boolean) => wall.focus(isWanted ? camera : null) })}
          />
        );
      })}
    </div>
  );
}

function titleOf(vehicles: readonly Vehicle[], { vehicleId, channelId }: Camera): string {
  const vehicle = vehicles.find(({ id }) => id === vehicleId);
  const channel = vehicle?.channels.find(({ channel_id: id }) => id === channelId);
  return `${vehicle?.name ?? vehicleId} · ${channel?.name ?? channelId}`;
}
