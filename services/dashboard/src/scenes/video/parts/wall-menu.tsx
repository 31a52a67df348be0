import { Button, Group, Menu, Modal, TextInput } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../../../common/ui/states.tsx';
import type { useWall } from '../use-wall.ts';
import { useWalls, withoutWall, withWall } from '../walls.ts';

const maxNameLength = 60;
const maxWalls = 20;

/** Opens, saves, renames and deletes walls. */
export function WallMenu({ wall }: { wall: ReturnType<typeof useWall> }) {
  const { t } = useTranslation('video');
  const { walls, save } = useWalls();
  const [dialog, setDialog] = useState<'save' | 'rename' | null>(null);
  const current = { layout: wall.layout, tiles: wall.tiles };
  const { saved } = wall;
  const name = saved?.name ?? t('wall.none');
  const close = (): void => {
    setDialog(null);
    save.reset();
  };
  const saveAs = (wanted: string): void => {
    const kept = dialog === 'rename' && saved !== null ? withoutWall(walls, saved.name) : walls;
    const content = dialog === 'rename' && saved !== null ? saved : current;
    const onSuccess = (): void => {
      close();
      wall.open(wanted);
    };
    save.mutate(withWall(kept, { ...content, name: wanted }), { onSuccess });
  };
  return (
    <>
      <Menu position="bottom-start">
        <Menu.Target>
          <Button size="xs" variant="default" rightSection={<IconChevronDown size={14} aria-hidden />}>
            {t('wall.title', { name })}
            {wall.isChanged ? ' *' : ''}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {walls.length === 0 ? <Menu.Label>{t('wall.empty')}</Menu.Label> : null}
          {walls.map((each) => (
            <Menu.Item key={each.name} onClick={() => wall.open(each.name)}>
              {each.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          {saved === null || !wall.isChanged ? null : (
            <Menu.Item
              onClick={() =>
                save.mutate(withWall(walls, { ...current, name: saved.name }), {
                  onSuccess: () => wall.open(saved.name),
                })
              }
            >
              {t('wall.save', { name: saved.name })}
            </Menu.Item>
          )}
          <Menu.Item disabled={walls.length >= maxWalls || wall.tiles === ''} onClick={() => setDialog('save')}>
            {t('wall.saveAs')}
          </Menu.Item>
          {saved === null ? null : (
            <>
              <Menu.Item onClick={() => setDialog('rename')}>{t('wall.rename')}</Menu.Item>
              <Menu.Item
                color="critical"
                onClick={() => save.mutate(withoutWall(walls, saved.name), { onSuccess: () => wall.open(undefined) })}
              >
                {t('wall.delete')}
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {save.isError && dialog === null ? <Failure error={save.error} /> : null}
      {dialog === null ? null : (
        <NameDialog
          title={t(dialog === 'rename' ? 'wall.rename' : 'wall.saveAs')}
          initialName={dialog === 'rename' ? name : ''}
          isPending={save.isPending}
          error={save.error}
          onSubmit={saveAs}
          onClose={close}
        />
      )}
    </>
  );
}

interface NameDialogProps {
  readonly title: string;
  readonly initialName: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onSubmit: (name: string) => void;
  readonly onClose: () => void;
}

function NameDialog({ title, initialName, isPending, error, onSubmit, onClose }: NameDialogProps) {
  const { t } = useTranslation('video');
  const [name, setName] = useState(initialName);
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t('common:action.close') }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '') onSubmit(name.trim());
        }}
      >
        {error === null ? null : <Failure error={error} />}
        <TextInput
          data-autofocus
          label={t('wall.name')}
          required
          maxLength={maxNameLength}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            {t('common:action.cancel')}
          </Button>
          <Button type="submit" loading={isPending}>
            {t('common:action.save')}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
