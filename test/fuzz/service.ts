export interface FuzzService {
  afterCase(): Promise<void>;
}
