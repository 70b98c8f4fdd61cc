import { describe, expect, it } from 'vitest';
import { type Pressable, PressGesture } from '../../../page/controls/press-gesture.ts';
import { splitAtChange } from '../../../page/view/stage/text-change.ts';

describe('the changing end of a text', () => {
  it.each([
    ['', '今天', '', '今天'],
    ['今天', '今天天气', '今天', '天气'],
    ['今天添', '今天天气', '今天', '天气'],
    ['今天天气', '今天', '今天', ''],
    ['昨天', '今天', '', '今天'],
    // Two characters that share their first half in UTF-16 are not cut in two.
    ['𠮷', '𠮶', '', '𠮶'],
  ])('%s → %s', (before, now, kept, changed) => {
    expect(splitAtChange(before, now)).toEqual([kept, changed]);
  });
});

describe('the record button', () => {
  function button() {
    const log: string[] = [];
    const shown: { state: ReturnType<Pressable['state']> } = { state: 'idle' };
    const gesture = new PressGesture({
      state: () => shown.state,
      start: () => {
        log.push('start');
        shown.state = 'recording';
      },
      stop: () => {
        log.push('stop');
        shown.state = 'idle';
      },
    });
    return { log, gesture, target: shown };
  }

  it('toggles with two short presses', () => {
    const { log, gesture } = button();
    gesture.down(1_000);
    gesture.up(1_499);
    // Of another button of the mouse.
    gesture.up(3_000);
    expect(log).toEqual(['start']);
    gesture.down(5_000);
    expect(log).toEqual(['start', 'stop']);
    gesture.up(9_000);
    expect(log).toEqual(['start', 'stop']);
  });

  it('ends with the release after a hold', () => {
    const { log, gesture } = button();
    gesture.down(1_000);
    gesture.up(1_500);
    expect(log).toEqual(['start', 'stop']);
  });

  it('goes on when the hand had to let go to allow the microphone', () => {
    const { log, gesture, target } = button();
    gesture.down(1_000);
    target.state = 'opening';
    gesture.up(4_000);
    expect(log).toEqual(['start']);
  });

  it('does nothing while a result is awaited', () => {
    const { log, gesture, target } = button();
    target.state = 'recognizing';
    gesture.down(1_000);
    gesture.up(2_000);
    gesture.tap();
    expect(log).toEqual([]);
  });

  it('toggles by a screen reader’s activation too, and a release without a press ends nothing', () => {
    const { log, gesture } = button();
    gesture.tap();
    gesture.up(10_000);
    expect(log).toEqual(['start']);
    gesture.tap();
    expect(log).toEqual(['start', 'stop']);
  });
});
