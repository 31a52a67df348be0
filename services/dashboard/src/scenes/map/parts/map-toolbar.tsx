import { Button, Checkbox, Popover, Stack } from '@mantine/core';
import { IconArrowsMaximize, IconMapPinSearch, IconStack2 } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { type OverlayName, overlayNames } from '../../../common/map/overlay-names.ts';

interface MapToolbarProps {
  /** The menu that draws. */
  readonly children: ReactNode;
  readonly overlays: readonly OverlayName[];
  readonly onOverlays: (overlays: readonly OverlayName[]) => void;
  readonly onFit: () => void;
  readonly onNearest: () => void;
}

/** Offers layers, drawing, fit, and the nearest vehicles to the middle of the map. */
export function MapToolbar({ children, overlays, onOverlays, onFit, onNearest }: MapToolbarProps) {
  const { t } = useTranslation('map');
  const toggle = (name: OverlayName): void =>
    onOverlays(overlays.includes(name) ? overlays.filter((each) => each !== name) : [...overlays, name]);
  return (
    <div className="map-toolbar" role="toolbar" aria-label={t('tools')}>
      <Popover position="bottom-start" withinPortal>
        <Popover.Target>
          <Button size="xs" variant="default" leftSection={<IconStack2 size={16} aria-hidden />}>
            {t('layers')}
          </Button>
        </Popover.Target>
        <Popover.Dropdown>
          <Stack gap="sm">
            {overlayNames.map((name) => (
              <Checkbox
                key={name}
                label={t(`layer.${name}`)}
                checked={overlays.includes(name)}
                onChange={() => toggle(name)}
              />
            ))}
          </Stack>
        </Popover.Dropdown>
      </Popover>
      {children}
      <Button size="xs" variant="default" leftSection={<IconArrowsMaximize size={16} aria-hidden />} onClick={onFit}>
        {t('fit')}
      </Button>
      <Button size="xs" variant="default" leftSection={<IconMapPinSearch size={16} aria-hidden />} onClick={onNearest}>
        {t('nearest')}
      </Button>
    </div>
  );
}
